#include "tools/command/command_tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "base/spawn.h"
#include "tools/tool.h"
#include "wire/json.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandTest : public ::testing::Test {
 protected:
  // No call leaks a descriptor.
  void SetUp() override { before_ = OpenDescriptors(); }
  void TearDown() override { EXPECT_EQ(OpenDescriptors(), before_); }

  static std::size_t OpenDescriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  ToolAnswer Call(CommandSpec spec, std::string_view arguments = "{}",
                  std::chrono::nanoseconds timeout = 30s) {
    asio::io_context context;
    auto tool = *Tool::Make({.name = "f",
                             .input_schema = *ParseJson(R"({"additionalProperties":true})"),
                             .timeout = timeout},
                            Command(std::move(spec), context.get_executor(),
                                    [&](std::string_view text) { log_ += text; }));
    ToolRun run({}, caller_);
    std::optional<Result<ToolAnswer>> answer;
    Invocation invocation{.keywords = std::get<Dict>(ParseJson(arguments)->variant()),
                          .idempotency_key = idempotency_key_};
    Spawn(context.get_executor(), [&]() -> asio::awaitable<void> {
      answer.emplace(co_await tool->InvokeRaw(std::move(invocation), run));
    });
    context.run();
    return **std::move(answer);
  }

  ToolAnswer Shell(std::string script, std::string_view arguments = "{}",
                   std::chrono::nanoseconds timeout = 30s) {
    return Call({.argv = {"/bin/sh", "-c", std::move(script)}}, arguments, timeout);
  }

  static std::string Shown(const ToolAnswer& answer) {
    if (const auto* raised = std::get_if<ToolRaised>(&answer)) {
      return raised->type + ": " + raised->message;
    }
    return *ToJson(std::get<Value>(answer));
  }

  bool LoggedPidIsGone() const {
    return !log_.empty() && ::kill(std::stoi(log_), 0) != 0 && errno == ESRCH;
  }

  std::shared_ptr<const CallerContext> caller_;
  std::string idempotency_key_;
  std::string log_;

 private:
  std::size_t before_ = 0;
};

TEST_F(CommandTest, ArgumentsGoInAndTheResultComesOut) {
  EXPECT_EQ(Shown(Shell("cat", R"({"a":[1,2.5,"ü"],"big":99999999999999999999})")),
            R"({"a":[1,2.5,"ü"],"big":99999999999999999999})");
  EXPECT_EQ(Shown(Shell("echo 7")), "7");
  EXPECT_EQ(Shown(Shell("echo")), "null");
}

// The executor of a run serves other users' runs as well.
TEST_F(CommandTest, ArgumentsAreWrittenInThePoolAndNotOnTheExecutorOfTheRun) {
  asio::io_context lane;
  asio::io_context pool;
  const auto tool = *Tool::Make({.name = "f"}, Command({.argv = {"/bin/sh", "-c", "echo 1"}},
                                                       pool.get_executor(), [](auto) {}));
  ToolRun run;
  std::optional<Result<ToolAnswer>> answer;
  Invocation invocation;
  invocation.keywords.items.emplace_back(Value("x"), Value(1.0 / 0.0));  // JSON cannot hold it.
  invocation.bound = true;
  Spawn(lane.get_executor(), [&]() -> asio::awaitable<void> {
    answer.emplace(co_await tool->InvokeRaw(std::move(invocation), run));
  });
  lane.poll();
  EXPECT_FALSE(answer.has_value());  // The arguments were not read yet.
  pool.run();
  lane.restart();
  lane.run();
  ASSERT_TRUE(answer.has_value());
  EXPECT_THAT(Shown(**answer), HasSubstr("TypeError"));
}

// Calls that wait for their turn have not begun, so a crash leaves few uncertain, even of many
// calls.
TEST_F(CommandTest, FewCallsAreBetweenTheirRecordAndTheirProgram) {
  asio::io_context context;
  const auto tool =
      *Tool::Make({.name = "f"}, Command({.argv = {"/bin/sh", "-c", "echo 1"}},
                                         context.get_executor(), [](std::string_view) {}));
  ToolRun run;
  asio::steady_timer recorded(context, asio::steady_timer::time_point::max());
  int starting = 0;
  int answered = 0;
  const auto start = [&]() -> asio::awaitable<bool> {
    const int number = starting++;
    if (number < 4) co_await recorded.async_wait(asio::as_tuple(asio::use_awaitable));
    co_return number != 5;
  };
  const auto call = [&]() -> asio::awaitable<void> {
    const auto answer = co_await tool->InvokeRaw({.start = start}, run);
    if (answer && std::holds_alternative<Value>(*answer)) ++answered;
  };
  for (int i = 0; i < 12; ++i) Spawn(context.get_executor(), call);
  context.poll();
  EXPECT_EQ(starting, 4);
  recorded.cancel();
  context.run();
  EXPECT_EQ(starting, 12);
  EXPECT_EQ(answered, 11);  // One was not allowed to start.
}

TEST_F(CommandTest, ArgumentsAreNeverPartOfTheCommandLine) {
  EXPECT_EQ(Shown(Shell("cat >/dev/null; echo \\\"$0 $#\\\"", R"({"x":"; rm -rf / #"})")),
            R"("/bin/sh 0")");
}

TEST_F(CommandTest, LargeInputAndOutputPass) {
  const std::string text(1 << 20, 'x');
  EXPECT_EQ(Shown(Shell("cat", R"({"x":")" + text + "\"}")).size(), text.size() + 8);
}

TEST_F(CommandTest, StderrGoesToTheLogOnly) {
  EXPECT_EQ(Shown(Shell("echo secret >&2; echo 1")), "1");
  EXPECT_EQ(log_, "secret\n");
  EXPECT_THAT(Shown(Shell("echo secret >&2; exit 3")), Not(HasSubstr("secret")));
}

TEST_F(CommandTest, TheLogIsBounded) {
  const auto answer = Call(
      {.argv = {"/bin/sh", "-c", "head -c 1000000 /dev/zero >&2; echo 1"}, .max_log_bytes = 1000});
  EXPECT_EQ(Shown(answer), "1");
  EXPECT_LT(log_.size(), 1100u);
  EXPECT_THAT(log_, HasSubstr("dropped"));
}

// I1.
TEST_F(CommandTest, TheEnvironmentIsTheOneItIsGiven) {
  EXPECT_EQ(Shown(Call({.argv = {"/bin/sh", "-c", "echo $KEY"},
                        .variables = {.inherit = {}, .own = {{"KEY", "\"v\""}}}})),
            "\"v\"");
  EXPECT_EQ(Shown(Call({.argv = {"/usr/bin/env"}})), "null");
}

TEST_F(CommandTest, TheProgramGetsTheVariablesOfItsSession) {
  CallerHost host({});
  CallerContext ann(host);
  ann.Bind({.values = {{CallerVariable::kUserName, "Ann \"$(id)\"\n2"}}});
  caller_ = std::make_shared<const CallerContext>(ann.Fork());
  idempotency_key_ = "run_1/0";
  const std::string script =
      "printf '[\"%s\"]' \"$CAISSON_IDEMPOTENCY_KEY\"; printf %s \"$CAISSON_SESSION_USER_NAME\" "
      ">&2";
  EXPECT_EQ(Shown(Shell(script)), "[\"run_1/0\"]");
  EXPECT_THAT(log_, HasSubstr("Ann \"$(id)\"\n2"));
}

// AC-19, AC-21, AC-35: one tool, one thread, one after the other; nothing remains for the next.
TEST_F(CommandTest, EachCallKnowsItsOwnSessionAlone) {
  CallerHost host({});
  const std::string script =
      "printf '[\"%s %s %s\"]' \"$CAISSON_SESSION_KEY\" \"$CAISSON_IDEMPOTENCY_KEY\" \"$MODE\"; "
      "export MODE=left CAISSON_SESSION_KEY=left";
  for (const std::string who : {"a", "b"}) {
    CallerContext caller(host);
    caller.Bind({.values = {{CallerVariable::kKey, who}}});
    caller_ = std::make_shared<const CallerContext>(caller.Fork());
    idempotency_key_ = "key-" + who;
    EXPECT_EQ(Shown(Shell(script)), "[\"" + who + " key-" + who + " \"]");
  }
  caller_.reset();
  idempotency_key_.clear();
  EXPECT_EQ(Shown(Shell(script)), "[\"  \"]");
}

// AC-37
TEST_F(CommandTest, WhereACommandStartsIsItsOwnAffair) {
  const auto here = std::filesystem::current_path();
  const CommandSpec spec{.argv = {"/bin/sh", "-c", "cd / && printf '\"%s\"' \"$OLDPWD\""},
                         .directory = "/usr"};
  EXPECT_EQ(Shown(Call(spec)), "\"/usr\"");
  EXPECT_EQ(std::filesystem::current_path(), here);
  EXPECT_EQ(Shown(Shell("printf '\"%s\"' \"$PWD\"")), "\"" + here.string() + "\"");
}

TEST_F(CommandTest, AFailureIsAToolErrorWithTheCommandsOutput) {
  EXPECT_EQ(Shown(Shell("echo no such user; exit 3")), "CommandError: no such user");
  EXPECT_THAT(Shown(Shell("exit 3")), HasSubstr("status 3"));
  EXPECT_THAT(Shown(Shell("kill -SEGV $$")), HasSubstr("signal 11"));
  EXPECT_EQ(Shown(Shell("printf 'a\\377b'; exit 1")), "CommandError: a?b");
}

TEST_F(CommandTest, OutputThatIsNotJsonIsAToolError) {
  EXPECT_THAT(Shown(Shell("echo hello")),
              HasSubstr("ValueError: the tool's command printed no JSON"));
  EXPECT_THAT(Shown(Shell("echo '{\"a\":1}x'")), HasSubstr("ValueError"));
  EXPECT_THAT(Shown(Shell("printf '\"\\377\"'")), HasSubstr("UTF-8"));
  EXPECT_THAT(Shown(Shell("echo NaN")), HasSubstr("ValueError"));
}

TEST_F(CommandTest, AMissingProgramIsAToolErrorThatNamesNoFile) {
  const auto answer = Call({.argv = {"/no/such/program"}});
  EXPECT_THAT(Shown(answer), HasSubstr("could not be run"));
  EXPECT_THAT(Shown(answer), Not(HasSubstr("/no/such")));
  EXPECT_THAT(log_, HasSubstr("/no/such/program"));
}

TEST_F(CommandTest, EndlessOutputIsCutOff) {
  const auto answer =
      Call({.argv = {"/bin/sh", "-c", "echo $$ >&2; cat /dev/zero"}, .max_output_bytes = 100'000});
  EXPECT_THAT(Shown(answer), HasSubstr("LimitError"));
  EXPECT_TRUE(LoggedPidIsGone());
}

TEST_F(CommandTest, AHungCommandTimesOutAndIsGone) {
  EXPECT_THAT(Shown(Shell("echo $$ >&2; sleep 1000; echo 1", "{}", 200ms)),
              HasSubstr("TimeoutError"));
  EXPECT_TRUE(LoggedPidIsGone());
}

TEST_F(CommandTest, ACommandThatClosesItsOutputsAndHangsTimesOutToo) {
  EXPECT_THAT(Shown(Shell("echo $$ >&2; exec 1>&- 2>&-; sleep 1000", "{}", 200ms)),
              HasSubstr("TimeoutError"));
  EXPECT_TRUE(LoggedPidIsGone());
}

TEST_F(CommandTest, ACommandMayIgnoreItsInput) {
  EXPECT_EQ(Shown(Shell("exec 0<&-; echo 1", R"({"x":")" + std::string(1 << 20, 'x') + "\"}")),
            "1");
}

// It keeps both pipes open, in its own session.
TEST_F(CommandTest, ADaemonHoldsNothingUp) {
  EXPECT_EQ(Shown(Shell("setsid sleep 1000 & echo $! >&2; echo 1")), "1");
  EXPECT_TRUE(LoggedPidIsGone());
}

TEST_F(CommandTest, BackgroundProcessesOfACommandAreKilled) {
  EXPECT_EQ(Shown(Shell("sleep 1000 & echo $! >&2; echo 1")), "1");
  EXPECT_TRUE(LoggedPidIsGone());
}

TEST_F(CommandTest, BytesCannotBeArguments) {
  asio::io_context context;
  auto tool =
      *Tool::Make({.name = "f", .input_schema = *ParseJson(R"({"additionalProperties":true})")},
                  Command({.argv = {"/bin/cat"}}, context.get_executor(), {}));
  ToolRun run;
  std::optional<Result<ToolAnswer>> answer;
  Invocation invocation;
  invocation.keywords.items.emplace_back(std::string("x"), Bytes{"y"});
  Spawn(context.get_executor(), [&]() -> asio::awaitable<void> {
    answer.emplace(co_await tool->InvokeRaw(std::move(invocation), run));
  });
  context.run();
  ASSERT_FALSE(*answer);  // It was not even started.
  EXPECT_EQ(answer->error().message(),
            "argument /x: JSON cannot hold bytes, and the tool takes its arguments as JSON. Pass a "
            "str or a number instead");
}

}  // namespace
}  // namespace caisson
