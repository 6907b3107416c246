#include "tests/integration/guest.h"

#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <utility>

#include "base/run_here.h"
#include "base/spawn.h"

namespace caisson::testing {
namespace {

constexpr std::chrono::seconds kDeadline{120};

[[noreturn]] void Hangs(const char* what) {
  std::fprintf(stderr, "somebody hangs: %s\n", what);
  std::abort();
}

// Runs a coroutine on `executor` to its end. It may refer to the caller's locals.
void Await(const asio::any_io_executor& executor, std::function<asio::awaitable<void>()> body) {
  std::promise<void> ended;
  Spawn(executor, [&]() -> asio::awaitable<void> { co_await body(); }, [&] { ended.set_value(); });
  if (ended.get_future().wait_for(kDeadline) != std::future_status::ready) Hangs("a cell");
}

// The same on an event loop of this thread: not on a lane, so that the engine chooses one.
void AwaitHere(std::function<asio::awaitable<void>()> body) {
  asio::io_context& here = LoopOfThisThread();
  here.restart();
  bool ended = false;
  Spawn(
      here.get_executor(), [&]() -> asio::awaitable<void> { co_await body(); },
      [&] { ended = true; });
  here.run_for(kDeadline);
  if (!ended) Hangs("an engine");
}

}  // namespace

struct Guest::State final : RunEvents {
  explicit State(asio::any_io_executor on) : executor(std::move(on)) {}

  void OnOutput(OutputStream stream, std::string_view bytes) override {
    if (stream != OutputStream::kStdout) return;
    const std::scoped_lock lock(mutex);
    out.append(bytes);
    changed.notify_all();
  }
  void OnCall(ToolCall call) override {
    static_cast<void>(Unpack(call).has_value());  // Arguments that are too large stay packed.
    const std::scoped_lock lock(mutex);
    calls.push_back(std::move(call));
    changed.notify_all();
  }
  void OnSleep(std::optional<HostTime> until) override {
    const std::scoped_lock lock(mutex);
    sleeps_until = until;
    changed.notify_all();
  }
  void OnEnd(Result<Outcome> outcome) {
    const std::scoped_lock lock(mutex);
    ended = std::move(outcome);
    changed.notify_all();
  }
  // Waits, with the lock held, until `condition` is true.
  template <typename F>
  std::unique_lock<std::mutex> WaitUntil(const char* what, F condition) {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, kDeadline, condition)) Hangs(what);
    return lock;
  }
  void Begin(std::function<asio::awaitable<Result<Outcome>>(State&)> run) {
    {
      const std::scoped_lock lock(mutex);
      ended.reset();
      sleeps_until.reset();
      calls.clear();
      out.clear();
    }
    Spawn(executor, [](std::shared_ptr<State> self, auto body) -> asio::awaitable<void> {
      self->OnEnd(co_await body(*self));
    }(self.lock(), std::move(run)));
  }

  const asio::any_io_executor executor;
  std::weak_ptr<State> self;
  std::unique_ptr<Cell> cell;  // Used on the executor only.

  std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  std::deque<ToolCall> calls;
  std::string out;
  std::optional<HostTime> sleeps_until;
  std::optional<Result<Outcome>> ended;
};

Guest Guest::Open(Engine& engine, const std::string& owner, std::shared_ptr<HostFiles> host_files) {
  std::shared_ptr<State> state;
  AwaitHere([&]() -> asio::awaitable<void> {
    auto cell = co_await engine.Open({.owner = OwnerId(owner), .host_files = host_files});
    if (!cell) Hangs(cell.error().message().c_str());
    state = std::make_shared<State>((*cell)->executor());
    state->self = state;
    state->cell = *std::move(cell);
  });
  return Guest(std::move(state));
}

Result<Guest> Guest::Restore(Engine& engine, SavedCell saved, Limits limits,
                             const std::string& owner, std::shared_ptr<HostFiles> host_files) {
  std::optional<Result<std::shared_ptr<State>>> made;
  AwaitHere([&]() -> asio::awaitable<void> {
    auto cell = co_await engine.Restore({.owner = OwnerId(owner), .host_files = host_files},
                                        std::move(saved), limits);
    if (!cell) {
      made.emplace(std::move(cell).error());
      co_return;
    }
    auto state = std::make_shared<State>((*cell)->executor());
    state->self = state;
    state->cell = *std::move(cell);
    made.emplace(std::move(state));
  });
  if (!*made) return std::move(*made).error();
  return Guest(**std::move(made));
}

Guest::Guest(Guest&&) noexcept = default;

Guest::~Guest() {
  if (state_ == nullptr) return;
  Await(state_->executor, [this]() -> asio::awaitable<void> {
    state_->cell.reset();
    co_return;
  });
}

void Guest::Start(RunRequest request, AfterRun after) {
  state_->Begin([request = std::move(request), after](State& state) {
    return state.cell->Run(request, state, after);
  });
}

void Guest::Continue(AfterRun after) {
  state_->Begin([after](State& state) { return state.cell->Continue(state, after); });
}

std::optional<ToolCall> Guest::NextCallOrEnd() {
  auto lock = state_->WaitUntil("no call and no end",
                                [&] { return !state_->calls.empty() || state_->ended; });
  if (state_->calls.empty()) return std::nullopt;
  ToolCall call = std::move(state_->calls.front());
  state_->calls.pop_front();
  return call;
}

ToolCall Guest::NextCall() {
  auto call = NextCallOrEnd();
  if (!call) Hangs("the run ended without the call that the test waits for");
  return *std::move(call);
}

Result<void> Guest::Answer(std::uint32_t seq, ToolAnswer answer) {
  Result<void> answered;
  Await(state_->executor, [&]() -> asio::awaitable<void> {
    answered = state_->cell->Answer(seq, std::move(answer));
    co_return;
  });
  return answered;
}

void Guest::WaitForOutput(std::string_view text) {
  state_->WaitUntil("output", [&] { return state_->out.find(text) != std::string::npos; });
}

Result<SavedCell> Guest::TrySave(AfterSave after) {
  std::optional<Result<SavedCell>> saved;
  Await(state_->executor,
        [&]() -> asio::awaitable<void> { saved.emplace(co_await state_->cell->Save(after)); });
  return *std::move(saved);
}

HostTime Guest::WaitForSleep() {
  const auto lock = state_->WaitUntil(
      "a sleep", [this] { return state_->sleeps_until.has_value() || state_->ended.has_value(); });
  if (!state_->sleeps_until) Hangs("a run that ended without a sleep");
  return *state_->sleeps_until;
}

Result<SavedCell> Guest::Save(AfterSave after) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (true) {
    auto saved = TrySave(after);
    const bool again = !saved && saved.error().message().find("computes") != std::string::npos;
    if (!again || std::chrono::steady_clock::now() > deadline) return saved;
  }
}

void Guest::Cancel() {
  state_->cell->Cancel();
}

Result<Outcome> Guest::EndOrError() {
  auto lock = state_->WaitUntil("a run", [&] { return state_->ended.has_value(); });
  return *state_->ended;
}

Outcome Guest::End() {
  auto outcome = EndOrError();
  if (outcome) return *std::move(outcome);
  Outcome failed;
  failed.error = RunError{.type = "NotRun", .message = outcome.error().message()};
  return failed;
}

Outcome Guest::Serve(const std::function<ToolAnswer(const ToolCall&)>& answer) {
  while (auto call = NextCallOrEnd()) {
    // Fails only if the run has ended meanwhile.
    static_cast<void>(Answer(call->seq, answer(*call)));
  }
  return End();
}

Outcome RunRequested(Engine& engine, RunRequest request) {
  Guest guest = Guest::Open(engine);
  guest.Start(std::move(request));
  return guest.Serve(
      [](const ToolCall&) { return ToolRaised{.type = "LookupError", .message = "no such tool"}; });
}

Outcome RunCode(Engine& engine, std::string code, Limits limits) {
  return RunRequested(engine, {.code = std::move(code), .limits = limits});
}

std::string Ending(const Outcome& outcome) {
  std::string text(ToString(outcome.status));
  text.append("/").append(ToString(outcome.reason));
  if (outcome.error) {
    text.append(" ").append(outcome.error->type).append(": ").append(outcome.error->message);
  }
  return text;
}

std::string ResultJson(const Outcome& outcome) {
  if (!outcome.result) return Ending(outcome);
  auto json = ToJson(*outcome.result);
  return json ? *std::move(json) : json.error().message();
}

}  // namespace caisson::testing
