#include "tools/command/command_tool.h"

#include <fcntl.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

#include "base/run_on.h"
#include "base/spawn.h"
#include "base/turnstile.h"
#include "base/utf8.h"
#include "jail/program.h"
#include "wire/json.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxMessageBytes = 2000;
// The number of calls of one tool that are recorded as started before their program runs. A crash
// leaves at most this many uncertain.
constexpr std::size_t kStartingAtOnce = 4;
constexpr std::string_view kSpace = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kSpace);
  if (start == text.npos) return {};
  return text.substr(start, text.find_last_not_of(kSpace) + 1 - start);
}

// Returns the part of `text` that is valid text and fits into a message.
std::string Message(std::string_view text) {
  std::string message;
  for (text = Trimmed(text); !text.empty() && message.size() < kMaxMessageBytes;) {
    const std::size_t size = CharacterSize(text);
    message += size == 0 ? "?" : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return message;
}

ToolAnswer Failed(std::string type, std::string message) {
  return ToolRaised{.type = std::move(type), .message = std::move(message)};
}

// One call: a running program and its output so far.
class Conversation {
 public:
  Conversation(std::shared_ptr<const CommandSpec> spec, CommandLog log, jail::Program program,
               const asio::any_io_executor& strand)
      : spec_(std::move(spec)),
        log_(std::move(log)),
        program_(std::move(program)),
        output_pipe_(strand, program_.output().Release()),
        log_pipe_(strand, program_.log().Release()),
        // The program waits on its own descriptor.
        ended_(strand, ::fcntl(program_.ended().get(), F_DUPFD_CLOEXEC, 0)) {}

  asio::awaitable<ToolAnswer> Run() {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await Both(ReadOutput(), ReadLog());
    // It may have closed its outputs and still run. A wait that begins after the cancellation would
    // not be cancelled.
    if (!co_await IsCancelled()) co_await ended_.async_wait(Wait::wait_read, kQuietly);
    const bool cancelled = co_await IsCancelled();
    if (cancelled) {
      program_.Kill();
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      co_await ended_.async_wait(Wait::wait_read, kQuietly);
    }
    const auto exit = program_.Wait();
    if (cancelled) co_return Failed("CancelledError", "the call was cancelled");
    co_return Answer(exit);
  }

 private:
  using Wait = asio::posix::stream_descriptor;
  static constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

  asio::awaitable<void> ReadOutput() {
    std::array<char, 16384> buffer;
    for (;;) {
      const auto [error, got] =
          co_await output_pipe_.async_read_some(asio::buffer(buffer), kQuietly);
      if (error) co_return;
      if (output_.size() + got > spec_->max_output_bytes) {
        flooded_ = true;
        program_.Kill();  // This ends its pipes.
        co_return;
      }
      output_.append(buffer.data(), got);
    }
  }

  asio::awaitable<void> ReadLog() {
    std::array<char, 4096> buffer;
    std::size_t left = spec_->max_log_bytes;
    for (;;) {
      const auto [error, got] = co_await log_pipe_.async_read_some(asio::buffer(buffer), kQuietly);
      if (error) co_return;
      const std::size_t kept = std::min(got, left);
      if (kept > 0) log_({buffer.data(), kept});
      if (kept < got && left > 0) log_("\n(the rest of its stderr is dropped)\n");
      left -= kept;
    }
  }

  ToolAnswer Answer(const Result<jail::Exit>& exit) const {
    if (!exit) {
      log_(exit.error().message());
      return Failed("RuntimeError", "the tool's command could not be run");
    }
    if (flooded_) {
      return Failed("LimitError", "the tool's command printed more than " +
                                      std::to_string(spec_->max_output_bytes) + " bytes");
    }
    if (exit->signal != 0) {
      return Failed("CommandError",
                    "the tool's command was ended by signal " + std::to_string(exit->signal));
    }
    if (exit->status != 0) {
      const std::string said = Message(output_);
      return Failed("CommandError", said.empty() ? "the tool's command ended with status " +
                                                       std::to_string(exit->status)
                                                 : said);
    }
    if (Trimmed(output_).empty()) return Value();
    auto value = ParseJson(output_);
    if (!value) {
      return Failed("ValueError", "the tool's command printed no " + value.error().message());
    }
    return *std::move(value);
  }

  const std::shared_ptr<const CommandSpec> spec_;
  const CommandLog log_;
  jail::Program program_;
  asio::posix::stream_descriptor output_pipe_;
  asio::posix::stream_descriptor log_pipe_;
  asio::posix::stream_descriptor ended_;
  std::string output_;
  bool flooded_ = false;
};

Result<ChildEnvironment> EnvironmentOf(const CommandSpec& spec, const CallContext& call) {
  ChildVariables variables = spec.variables;
  if (!call.idempotency_key.empty()) {
    variables.own["CAISSON_IDEMPOTENCY_KEY"] = call.idempotency_key;
  }
  if (call.caller != nullptr) return ChildEnvironment::Build(*call.caller, variables);
  CallerHost nobody({});
  return ChildEnvironment::Build(CallerContext(spec.host != nullptr ? *spec.host : nobody),
                                 variables);
}

asio::awaitable<ToolAnswer> Converse(std::shared_ptr<const CommandSpec> spec, CommandLog log,
                                     std::string input, ChildEnvironment environment,
                                     Turnstile::Pass pass) {
  auto program = jail::Program::Start({.argv = spec->argv,
                                       .input = std::move(input),
                                       .environment = std::move(environment),
                                       .directory = spec->directory,
                                       .errors = jail::ErrorOutput::kPipe,
                                       .starter = spec->starter.get()});
  pass.Leave();
  if (!program) {
    log(program.error().message());
    co_return Failed("RuntimeError", "the tool's command could not be run");
  }
  Conversation conversation(spec, std::move(log), *std::move(program),
                            co_await asio::this_coro::executor);
  co_return co_await conversation.Run();
}

}  // namespace

ToolBody Command(CommandSpec spec, asio::any_io_executor io, CommandLog log) {
  const auto shared = std::make_shared<const CommandSpec>(std::move(spec));
  const auto turnstile = std::make_shared<const Turnstile>(kStartingAtOnce);
  return Awaitable([=](Dict arguments, CallContext call) -> asio::awaitable<ToolAnswer> {
           auto environment = EnvironmentOf(*shared, call);
           if (!environment) co_return Failed("RuntimeError", environment.error().message());
           // Writing and freeing large arguments takes milliseconds, which are the lane's here.
           auto input = co_await CallOn(io, [arguments = std::move(arguments)]() mutable {
             return ToJson(Value(std::move(arguments)));
           });
           if (!input) co_return Failed("TypeError", "the arguments: " + input.error().message());
           auto pass = co_await turnstile->Enter();
           if (!pass || (call.start && !co_await call.start())) {
             co_return Failed("CancelledError", "the call was cancelled before it began");
           }
           co_return co_await RunOn(
               asio::make_strand(io),
               Converse(shared, log, *std::move(input), *std::move(environment), *std::move(pass)));
         })
      .StartingItself()
      .Checking(JsonArgumentsCheck());
}

}  // namespace caisson
