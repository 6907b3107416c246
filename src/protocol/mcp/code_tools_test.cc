#include "protocol/mcp/code_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>

#include "approval/binding.h"
#include "base/spawn.h"
#include "protocol/mcp/mcp_message.h"
#include "protocol/mcp/outcome_result.h"
#include "protocol/mcp/server.h"
#include "tools/schema.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::mcp {
namespace {

using testing::HasSubstr;

IsolationKey OwnerOf(std::string user) {
  return IsolationKey(*Identity::Create({.user = std::move(user)}));
}

// Runs of one owner that ask about one call of `send`, and end when it is decided.
class AskingRuns final : public RunService {
 public:
  explicit AskingRuns(IsolationKey owner) : owner_(std::move(owner)) {}

  asio::awaitable<Result<RunView>> Start(IsolationKey, RunSpec request) override {
    if (failure) co_return *failure;
    code_ = request.code;
    co_return View();
  }
  asio::awaitable<Result<RunView>> StartDetached(IsolationKey owner, RunSpec request) override {
    return Start(std::move(owner), std::move(request));
  }
  asio::awaitable<Result<RunView>> Find(IsolationKey owner, RunId id) override {
    if (owner != owner_ || id != RunId("run_1")) co_return Error(ErrorCode::kNotFound, "no run");
    co_return View();
  }
  asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey, IdempotencyKey) override {
    co_return Error(ErrorCode::kNotFound, "no key");
  }
  asio::awaitable<Result<Page<RunView>>> List(IsolationKey, std::optional<RunState>,
                                              PageQuery) override {
    co_return Page<RunView>{};
  }
  asio::awaitable<Result<RunView>> Await(IsolationKey owner, RunId id, std::set<std::string> known,
                                         std::chrono::steady_clock::time_point) override {
    awaited_with = std::move(known);
    return Find(std::move(owner), std::move(id));
  }
  asio::awaitable<Result<RunView>> Cancel(IsolationKey owner, RunId id) override {
    cancelled = true;
    return Find(std::move(owner), std::move(id));
  }
  asio::awaitable<Result<std::string>> File(IsolationKey, RunId, std::uint32_t number) override {
    if (number != 1) co_return Error(ErrorCode::kNotFound, "no file");
    co_return "image";
  }
  asio::awaitable<Result<StoredApproval>> FindApproval(IsolationKey owner, ApprovalId id) override {
    if (owner != owner_ || id != ApprovalId("apr_1")) {
      co_return Error(ErrorCode::kNotFound, "no approval");
    }
    const auto arguments = Canonicalize(call_arguments);
    StoredApproval stored{.asked = {.id = id,
                                    .binding = {.run = RunId("run_1"),
                                                .tool = "send",
                                                .arguments_digest = arguments->digest},
                                    .arguments = arguments->text},
                          .state = verdict.value_or(ApprovalState::kPending)};
    co_return stored;
  }
  asio::awaitable<Result<Page<StoredApproval>>> ListApprovals(IsolationKey,
                                                              std::optional<ApprovalState>,
                                                              PageQuery) override {
    co_return Page<StoredApproval>{};
  }
  asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id,
                                                 Answer answer) override {
    if (verdict) co_return Error(ErrorCode::kFailedPrecondition, "decided");
    verdict = answer.verdict;
    co_return co_await FindApproval(std::move(owner), std::move(id));
  }
  asio::awaitable<Result<std::vector<Grant>>> Grants(IsolationKey) override {
    co_return std::vector<Grant>();
  }
  asio::awaitable<Result<void>> RevokeGrant(IsolationKey, GrantId, std::string) override {
    co_return Error(ErrorCode::kNotFound, "no grant");
  }
  asio::awaitable<void> Close() override { co_return; }

  std::optional<Error> failure;  // The error of starting a run.
  std::optional<ApprovalState> verdict;
  std::vector<OutcomeFile> files;
  Dict call_arguments = Object({{"to", "bob\u202e"}});
  bool cancelled = false;
  std::optional<std::set<std::string>> awaited_with;  // The approvals that the caller named.

 private:
  RunView View() const {
    RunView view{.id = RunId("run_1"), .state = RunState::kWaiting, .code = code_};
    view.outcome.run_id = "run_1";
    if (!verdict) {
      view.outcome.status = RunStatus::kWaiting;
      view.outcome.reason = RunReason::kApproval;
      view.outcome.approvals = {{.id = "apr_1", .tool = "send"}};
    } else {
      view.state = RunState::kFinished;
      view.outcome.status = RunStatus::kCompleted;
      view.outcome.reason = RunReason::kReturned;
      view.outcome.result = Value(*verdict == ApprovalState::kApproved ? "sent" : "not sent");
      view.outcome.files = files;
    }
    return view;
  }

  const IsolationKey owner_;
  std::string code_;
};

// A client that answers each question at once with the next of `answers`.
class TestExchange final : public Exchange {
 public:
  TestExchange(Caller caller, std::shared_ptr<ClientConnection> connection,
               std::deque<Value> answers, asio::any_io_executor executor)
      : Exchange(std::move(caller), Request{.id = Value(1), .method = "tools/call"}, connection),
        executor_(std::move(executor)),
        connection_(std::move(connection)),
        answers_(std::move(answers)) {}

  bool is_unwanted() const override { return false; }
  std::vector<std::string> sent;

 protected:
  void Send(std::string text, Delivery) override {
    sent.push_back(text);
    const Message message = ReadMessage(text);
    const auto* request = std::get_if<Request>(&message);
    if (request == nullptr || answers_.empty()) return;
    Response response{.id = request->id, .outcome = std::move(answers_.front())};
    answers_.pop_front();
    asio::post(executor_, [connection = connection_, response]() mutable {
      connection->questions.Answer(std::move(response));
    });
  }

 private:
  const asio::any_io_executor executor_;
  const std::shared_ptr<ClientConnection> connection_;
  std::deque<Value> answers_;
};

class CodeToolsTest : public testing::Test {
 protected:
  CodeToolsTest() {
    Features features;
    features.tools = MakeCodeTools(runs_, dialogue_, std::make_shared<const CodeSetting>());
    server_.emplace(ServerInfo{.name = "test", .version = "1"}, std::move(features));
  }

  static Value Form(std::string action, std::optional<bool> approved = {}) {
    Dict answer = Object({{"action", std::move(action)}});
    if (approved) Append(answer, "content", Object({{"approved", *approved}}));
    return answer;
  }

  Caller CallerOf(Era era, Dict capabilities, std::string user = "ann") const {
    return {.principal = {.owner = OwnerOf(std::move(user))},
            .era = era,
            .version = std::string(era == Era::kModern ? kModernVersion : kNewestLegacyVersion),
            .capabilities = std::move(capabilities)};
  }

  Reply Call(Caller caller, Dict params, std::deque<Value> answers = {}) {
    const auto connection =
        std::make_shared<ClientConnection>(caller.principal, context_.get_executor());
    TestExchange exchange(std::move(caller), connection, std::move(answers),
                          context_.get_executor());
    std::optional<Reply> reply;
    const Request request{.id = Value(1), .method = "tools/call", .params = std::move(params)};
    const auto call = [&]() -> asio::awaitable<void> {
      reply = co_await server_->Handle(request, exchange);
    };
    Spawn(context_.get_executor(), call);
    context_.restart();
    context_.run();
    sent_ = exchange.sent;
    return *std::move(reply);
  }

  static Dict Execute(Dict more = {}) {
    Dict params =
        Object({{"name", "execute_code"}, {"arguments", Object({{"code", "send(to='bob')"}})}});
    for (auto& field : more.items) params.items.push_back(std::move(field));
    return params;
  }
  static Value ResultOf(const Reply& reply) {
    const auto& result = std::get<Dict>(reply);
    const auto* outcome = FindAs<Dict>(result, "structuredContent");
    return outcome == nullptr ? Value() : *outcome->Find("result");
  }
  static std::string TextOf(const Reply& reply) {
    if (const auto* error = std::get_if<RpcError>(&reply)) return error->message;
    return *ToJson(Value(std::get<Dict>(reply)));
  }

  const Dict can_ask_ = Object({{"elicitation", Dict()}});
  asio::io_context context_;
  AskingRuns runs_{OwnerOf("ann")};
  const KeyRing keys_ = KeyRing::Generate();
  ManualClock clock_;
  const RequestStates states_{keys_, clock_};
  const ApprovalDialogue dialogue_{runs_, states_};
  std::optional<Server> server_;
  std::vector<std::string> sent_;
};

TEST_F(CodeToolsTest, LegacyClientsAreAskedWhileTheyWait) {
  const Reply reply = Call(CallerOf(Era::kLegacy, can_ask_), Execute(), {Form("accept", true)});
  EXPECT_EQ(ResultOf(reply), Value("sent"));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_THAT(sent_[0], HasSubstr("elicitation/create"));
  // Invisible characters are escaped.
  EXPECT_THAT(sent_[0], HasSubstr("u202e"));
}

TEST_F(CodeToolsTest, AFailureOfTheServerIsAnErrorOfTheProtocol) {
  for (const ErrorCode code : {ErrorCode::kNoSpace, ErrorCode::kUnavailable}) {
    runs_.failure = Error(code, "the store cannot take it");
    const Reply reply = Call(CallerOf(Era::kLegacy, can_ask_), Execute());
    const auto* error = std::get_if<RpcError>(&reply);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code, RpcCode::kInternalError);
    EXPECT_EQ(error->message, "the store cannot take it");
    EXPECT_EQ(*error->data.If<Dict>()->Find("code"), Value(std::string(ToString(code))));
  }
  runs_.failure = Error(ErrorCode::kResourceExhausted, "your quota");
  EXPECT_THAT(TextOf(Call(CallerOf(Era::kLegacy, can_ask_), Execute())), HasSubstr("isError"));
}

TEST_F(CodeToolsTest, OnlyAnExplicitApprovalCounts) {
  for (const Value& answer : {Form("decline"), Form("accept", false)}) {
    runs_.verdict.reset();
    EXPECT_EQ(ResultOf(Call(CallerOf(Era::kLegacy, can_ask_), Execute(), {answer})),
              Value("not sent"));
  }
  for (const Value& answer : {Form("cancel"), Form("accept"), Value(Dict()), Value(true)}) {
    runs_.verdict.reset();
    const Reply reply = Call(CallerOf(Era::kLegacy, can_ask_), Execute(), {answer});
    EXPECT_THAT(TextOf(reply), HasSubstr("wait_for_run"));
    EXPECT_FALSE(runs_.verdict);
  }
}

TEST_F(CodeToolsTest, AClientThatCannotBeAskedIsToldWhoCan) {
  for (const Era era : {Era::kLegacy, Era::kModern}) {
    const Reply reply = Call(CallerOf(era, {}), Execute());
    EXPECT_THAT(TextOf(reply), HasSubstr("caisson approvals approve apr_1"));
    EXPECT_THAT(TextOf(reply), HasSubstr("/v1/approvals/apr_1"));
    EXPECT_THAT(TextOf(reply), HasSubstr("run_1"));
    EXPECT_FALSE(runs_.verdict);
  }
}

TEST_F(CodeToolsTest, ModernClientsGetTheQuestionAndRepeatTheRequest) {
  const Reply asked = Call(CallerOf(Era::kModern, can_ask_), Execute());
  const auto& question = std::get<Dict>(asked);
  EXPECT_EQ(*question.Find("resultType"), Value("input_required"));
  const Value state = *question.Find("requestState");
  const Dict answers = Object({{"apr_1", Form("accept", true)}});
  const Dict again = Object({{"inputResponses", answers}, {"requestState", state}});
  EXPECT_EQ(ResultOf(Call(CallerOf(Era::kModern, can_ask_), Execute(again))), Value("sent"));

  // A state is valid once.
  const Reply replayed = Call(CallerOf(Era::kModern, can_ask_), Execute(again));
  EXPECT_EQ(std::get<RpcError>(replayed).code, RpcCode::kInvalidParams);
}

TEST_F(CodeToolsTest, LargeOutcomesAreWrittenInThePool) {
  asio::io_context pool;
  Features features;
  features.tools =
      MakeCodeTools(runs_, dialogue_, std::make_shared<const CodeSetting>(), pool.get_executor());
  server_.emplace(ServerInfo{.name = "test", .version = "1"}, std::move(features));
  runs_.verdict = ApprovalState::kApproved;
  runs_.files = {{.path = "/output/large.txt",
                  .change = "created",
                  .size = 100'000,
                  .contents = std::string(100'000, 'x')}};
  const Caller caller = CallerOf(Era::kModern, {});
  TestExchange exchange(
      caller, std::make_shared<ClientConnection>(caller.principal, context_.get_executor()), {},
      context_.get_executor());
  const Request request{
      .id = Value(1),
      .method = "tools/call",
      .params = Object({{"name", "wait_for_run"}, {"arguments", Object({{"run_id", "run_1"}})}})};
  std::optional<Reply> reply;
  const auto call = [&]() -> asio::awaitable<void> {
    reply = co_await server_->Handle(request, exchange);
  };
  Spawn(context_.get_executor(), call);
  context_.poll();
  EXPECT_FALSE(reply);
  pool.poll();
  context_.restart();
  context_.poll();
  ASSERT_TRUE(reply);
  EXPECT_EQ(ResultOf(*reply), Value("sent"));
}

TEST_F(CodeToolsTest, NobodyIsAskedAboutArgumentsThatAreTooLong) {
  for (int number = 0; number < 10'000; ++number) {
    runs_.call_arguments.items.emplace_back("argument" + std::to_string(number), "some text");
  }
  for (const Era era : {Era::kLegacy, Era::kModern}) {
    const Reply reply = Call(CallerOf(era, can_ask_), Execute(), {Form("accept", true)});
    EXPECT_THAT(TextOf(reply), HasSubstr("caisson approvals approve apr_1"));
    EXPECT_TRUE(sent_.empty());
    EXPECT_FALSE(runs_.verdict);
  }
}

TEST_F(CodeToolsTest, FilesOfARunThatEndedBeforeAreShownWithTheirContents) {
  runs_.verdict = ApprovalState::kApproved;
  runs_.files = {{.path = "/output/old.png", .change = "deleted"},
                 {.path = "/output/plot.png", .change = "created", .size = 5}};
  const Dict params =
      Object({{"name", "wait_for_run"}, {"arguments", Object({{"run_id", "run_1"}})}});
  const std::string text = TextOf(Call(CallerOf(Era::kModern, {}), params));
  EXPECT_THAT(text, HasSubstr(R"("data":"aW1hZ2U=")"));
  EXPECT_THAT(text, HasSubstr(R"("size":5)"));
}

TEST_F(CodeToolsTest, UnansweredQuestionsAreAskedAgain) {
  const Reply asked = Call(CallerOf(Era::kModern, can_ask_), Execute());
  const Value state = *std::get<Dict>(asked).Find("requestState");
  for (const Dict& answers :
       {Dict(), Object({{"apr_1", 5}}), Object({{"other", Form("accept", true)}})}) {
    const Reply reply =
        Call(CallerOf(Era::kModern, can_ask_),
             Execute(Object({{"inputResponses", answers}, {"requestState", state}})));
    EXPECT_EQ(*std::get<Dict>(reply).Find("resultType"), Value("input_required"));
    EXPECT_FALSE(runs_.verdict);
  }
}

TEST_F(CodeToolsTest, AStateIsRefusedForAnotherOwnerOrCall) {
  const Reply asked = Call(CallerOf(Era::kModern, can_ask_), Execute());
  const Value state = *std::get<Dict>(asked).Find("requestState");
  const Dict answers = Object({{"apr_1", Form("accept", true)}});
  const Dict again = Object({{"inputResponses", answers}, {"requestState", state}});
  const Reply stolen = Call(CallerOf(Era::kModern, can_ask_, "bob"), Execute(again));
  EXPECT_EQ(std::get<RpcError>(stolen).code, RpcCode::kInvalidParams);
  Dict other = Object({{"name", "execute_code"},
                       {"arguments", Object({{"code", "send(to='eve')"}})},
                       {"inputResponses", answers},
                       {"requestState", state}});
  EXPECT_EQ(std::get<RpcError>(Call(CallerOf(Era::kModern, can_ask_), std::move(other))).code,
            RpcCode::kInvalidParams);
  EXPECT_FALSE(runs_.verdict);
}

TEST_F(CodeToolsTest, AWaitingRunIsCollectedLater) {
  const Dict wait =
      Object({{"name", "wait_for_run"}, {"arguments", Object({{"run_id", "run_1"}})}});
  EXPECT_THAT(TextOf(Call(CallerOf(Era::kLegacy, {}), wait)), HasSubstr("waiting"));
  runs_.verdict = ApprovalState::kApproved;  // By another client.
  EXPECT_EQ(ResultOf(Call(CallerOf(Era::kLegacy, {}), wait)), Value("sent"));
}

TEST_F(CodeToolsTest, WaitingForARunReportsNewApprovals) {
  const Dict params =
      Object({{"name", "wait_for_run"}, {"arguments", Object({{"run_id", "run_1"}})}});
  Call(CallerOf(Era::kModern, {}), params);
  EXPECT_EQ(runs_.awaited_with, std::set<std::string>());
  Call(CallerOf(Era::kModern, {}), params);
  EXPECT_EQ(runs_.awaited_with, std::set<std::string>{"apr_1"});
}

TEST_F(CodeToolsTest, RunsOfOtherOwnersAreNotFound) {
  const Dict wait =
      Object({{"name", "wait_for_run"}, {"arguments", Object({{"run_id", "run_1"}})}});
  const Dict none =
      Object({{"name", "wait_for_run"}, {"arguments", Object({{"run_id", "run_2"}})}});
  EXPECT_EQ(TextOf(Call(CallerOf(Era::kLegacy, {}, "bob"), wait)),
            TextOf(Call(CallerOf(Era::kLegacy, {}), none)));
}

TEST(OutcomeResultTest, TheOutcomeFitsItsSchema) {
  const Schema schema = *Schema::Compile(OutcomeSchema());
  Outcome outcome{.run_id = "run_1", .status = RunStatus::kFailed, .reason = RunReason::kRaised};
  outcome.error = RunError{.type = "ValueError", .message = "x", .line = 3};
  outcome.files = {{.path = "/output/a", .change = "created", .size = 1, .contents = "x"},
                   {.path = "/output/b", .change = "created", .size = 9, .omitted = "too large"}};
  outcome.calls = {{.seq = 0, .tool = "t", .arguments = Dict(), .outcome = "returned"}};
  outcome.findings = {{.rule = "import", .message = "m", .line = 1, .column = 1, .hint = "h"}};
  outcome.approvals = {{.id = "apr_1", .tool = "t"}};
  EXPECT_TRUE(schema.Check(*ParseJson(ToJson(outcome, FileData::kInclude))).empty());
  outcome.error.reset();
  outcome.result_repr = "<x>";
  EXPECT_TRUE(schema.Check(*ParseJson(ToJson(outcome, FileData::kOmit))).empty());
}

TEST(OutcomeResultTest, FilesAreFoundByTheirUri) {
  const FileAddress address{.run = RunId("run_1"), .number = 7};
  const std::string uri = FileUri(address, "/output/dir/a b\xC3\xA9.csv");
  EXPECT_EQ(uri, "caisson://runs/run_1/files/7/a%20b%C3%A9.csv");
  const auto parsed = ParseFileUri(uri);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->run, address.run);
  EXPECT_EQ(parsed->number, 7u);
  for (const char* wrong :
       {"", "caisson://runs/", "caisson://runs//files/0/a", "caisson://runs/r/files/x/a",
        "caisson://runs/r/files/-1/a", "caisson://runs/r/files/1", "file:///etc/passwd",
        "caisson://runs/r/files/99999999999999/a"}) {
    EXPECT_FALSE(ParseFileUri(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace caisson::mcp
