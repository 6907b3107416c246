#include "protocol/agui/thread_runs.h"

#include <algorithm>
#include <boost/asio/strand.hpp>
#include <chrono>

#include "base/spawn.h"
#include "protocol/agui/state_tool.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

// A run that was stored but whose turn is not there is being started elsewhere, for this long.
constexpr std::chrono::seconds kStarting{30};
constexpr std::string_view kSkipped =
    "Tool execution skipped: the user went on before the result was available.";

Error Busy() {
  return Error(ErrorCode::kFailedPrecondition,
               "another run of this thread is under way; wait for its end or cancel it");
}

bool IsUnderWay(const TurnView& turn) {
  return turn.state == TurnState::kQueued || turn.state == TurnState::kRunning;
}

bool HasResume(const RunInput& input) {
  if (!input.resume) return false;
  const auto* list = input.resume->If<List>();
  return list == nullptr || !list->items.empty();
}

// Whether the request only wants to see what is there.
bool OnlyConnects(const RunInput& input, const Thread& thread) {
  if (HasResume(input)) return false;
  const News news = NewsIn(input, thread);
  return !news.has_user_message && news.results == 0;
}

// The client went on without these results.
void SkipCalls(const Thread& thread, News& news) {
  for (const OpenClientCall& call : thread.client_calls) {
    const bool answered = std::ranges::any_of(news.input, [&](const TurnItem& item) {
      const auto* result = std::get_if<ClientResult>(&item.content);
      return result != nullptr && result->call_id == call.call_id;
    });
    if (answered) continue;
    news.input.insert(news.input.begin(),
                      {.id = "",
                       .content = ClientResult{.call_id = call.call_id,
                                               .parts = {model::TextPart{std::string(kSkipped)}}}});
    news.messages.insert(news.messages.begin(), Value(Object({{"id", call.tool_call + "_skipped"},
                                                              {"role", "tool"},
                                                              {"toolCallId", call.tool_call},
                                                              {"content", kSkipped.data()}})));
  }
}

}  // namespace

// The place of a thread among the runs of this process, while a request starts a run.
class ThreadRuns::Place {
 public:
  Place(ThreadRuns& runs, Key key, std::shared_ptr<ThreadRun> run)
      : runs_(runs), key_(std::move(key)), run_(std::move(run)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (!kept_) runs_.Leave(key_, run_);
  }
  // The run has begun and leaves by itself.
  void Keep() { kept_ = true; }

 private:
  ThreadRuns& runs_;
  const Key key_;
  const std::shared_ptr<ThreadRun> run_;
  bool kept_ = false;
};

// Returns the run that is there already; null if `run` has its place now.
Result<std::shared_ptr<ThreadRun>> ThreadRuns::Enter(const Key& key,
                                                     std::shared_ptr<ThreadRun> run) {
  auto state = state_.Lock();
  if (state->closing) return Error(ErrorCode::kUnavailable, "the server is stopping");
  const auto found = state->runs.find(key);
  if (found != state->runs.end()) return found->second;
  if (state->runs.size() >= kMaxRuns) {
    return Error(ErrorCode::kResourceExhausted, "too many threads run; try again later");
  }
  state->runs.emplace(key, std::move(run));
  return std::shared_ptr<ThreadRun>();
}

void ThreadRuns::Leave(const Key& key, const std::shared_ptr<ThreadRun>& run) {
  run->End();
  EndWork([&](State& state) {
    state.stops.erase(key);
    state.runs.erase(key);
  });
}

// Wakes Close() after the last work. Nothing of this object may be used afterwards.
template <typename Change>
void ThreadRuns::EndWork(Change change) {
  std::vector<std::shared_ptr<Wakeup>> sleepers;
  {
    auto state = state_.Lock();
    change(*state);
    if (state->runs.empty() && state->answering == 0) sleepers = std::exchange(state->sleepers, {});
  }
  for (const auto& sleeper : sleepers) sleeper->Wake();
}

asio::awaitable<void> ThreadRuns::Close() {
  while (true) {
    const auto sleeper = std::make_shared<Wakeup>();
    {
      auto state = state_.Lock();
      state->closing = true;
      for (const auto& [key, stop] : std::exchange(state->stops, {})) stop.Request();
      if (state->runs.empty() && state->answering == 0) co_return;
      state->sleepers.push_back(sleeper);
    }
    co_await sleeper->Sleep();
  }
}

// ---- A request ----

struct ThreadRuns::Pending {
  std::shared_ptr<Wakeup> ready = std::make_shared<Wakeup>();
  Guarded<std::optional<Result<ThreadAnswer>>> answer{};
};

asio::awaitable<Result<ThreadAnswer>> ThreadRuns::Answer(ThreadRequest request) {
  const auto pending = std::make_shared<Pending>();  // Shared with Work.
  {
    auto state = state_.Lock();
    if (state->closing) co_return Error(ErrorCode::kUnavailable, "the server is stopping");
    ++state->answering;
  }
  Spawn(asio::make_strand(executor_), Work(std::move(request), pending));
  if (co_await pending->ready->Sleep() == Wakeup::Reason::kCancelled) {
    co_return Error(ErrorCode::kCancelled, "the client has left");
  }
  co_return *std::move(*pending->answer.Lock());
}

asio::awaitable<void> ThreadRuns::Work(ThreadRequest request, std::shared_ptr<Pending> pending) {
  auto answer = co_await Decide(std::move(request));
  *pending->answer.Lock() = std::move(answer);
  pending->ready->Wake();
  EndWork([](State& state) { --state.answering; });
}

asio::awaitable<Result<ThreadAnswer>> ThreadRuns::Decide(ThreadRequest request) {
  const Key key(request.owner, ThreadDocument(request.agent, request.input.thread_id));
  while (true) {
    auto run = std::make_shared<ThreadRun>(request.input.run_id);
    auto there = Enter(key, run);
    if (!there) co_return std::move(there).error();
    if (*there) {
      auto joined = co_await Join(*std::move(there), request);
      if (!joined) co_return std::move(joined).error();
      if (*joined) co_return *std::move(*joined);
      continue;
    }
    Place place(*this, key, run);
    co_return co_await Perform(key, std::move(request), std::move(run), place);
  }
}

asio::awaitable<Result<std::optional<ThreadAnswer>>> ThreadRuns::Join(
    std::shared_ptr<ThreadRun> run, const ThreadRequest& request) {
  using Joined = std::optional<ThreadAnswer>;
  if (!co_await run->AwaitBegin()) co_return Joined();
  const ThreadRun::Facts facts = run->facts();
  const bool same = run->run_id() == request.input.run_id;
  if (same || OnlyConnects(request.input, facts.thread)) {
    co_return Joined(ThreadRun::Follower(std::move(run), ThreadRun::Place::kLater));
  }
  if (facts.has_followers) co_return Busy();
  // Its client has left and has something new to say.
  auto cancelled = co_await turns_.Cancel(request.owner, facts.turn);
  if (!cancelled) co_return std::move(cancelled).error();
  co_await run->AwaitEnd();
  co_return Joined();
}

asio::awaitable<Result<ThreadAnswer>> ThreadRuns::Perform(Key key, ThreadRequest request,
                                                          std::shared_ptr<ThreadRun> run,
                                                          Place& place) {
  auto stored = co_await Load(key);
  if (!stored) co_return std::move(stored).error();
  Thread& thread = stored->thread;
  const RunInput& input = request.input;
  if (thread.under_way) {
    auto still = co_await Settle(key, *stored);
    if (!still) co_return std::move(still).error();
    if (*still) {
      const RunUnderWay under_way = *thread.under_way;
      if (under_way.run_id != input.run_id && !OnlyConnects(input, thread)) co_return Busy();
      // The process that followed it is gone, or is another replica: follow it here as well.
      // Counted before the run begins: a request that joins a run without followers may end it.
      ThreadRun::Follower follower(run, ThreadRun::Place::kFirst);
      run->Begin(thread, under_way.turn, {});
      Course course{.key = std::move(key),
                    .request = std::move(request),
                    .stored = *std::move(stored),
                    .run = run,
                    .run_id = under_way.run_id};
      Push(course, RunStarted(course.request.input.thread_id, course.run_id));
      if (!IsEmptyState(course.stored.thread.state)) {
        Push(course, StateSnapshot(course.stored.thread.state));
      }
      Push(course, MessagesSnapshot(course.stored.thread.messages));
      place.Keep();
      Launch(std::move(course));
      co_return ThreadAnswer(std::move(follower));
    }
  }
  // A repeated request: its run is over.
  if (thread.last_run == input.run_id) co_return ThreadAnswer(Show(request, thread));

  News news = NewsIn(input, thread);
  ResumeAnswers answers;
  if (HasResume(input)) {
    ResumeVerdict verdict = JudgeResume(*input.resume, thread.interrupts, clock_.Now());
    if (auto* refusal = std::get_if<ResumeRefusal>(&verdict)) {
      co_return ThreadAnswer(Refuse(request, refusal->message, refusal->code));
    }
    if (std::holds_alternative<ResumeCancelled>(verdict)) {
      co_return ThreadAnswer(co_await CancelInterrupts({.key = std::move(key),
                                                        .request = std::move(request),
                                                        .stored = *std::move(stored),
                                                        .run = std::move(run)}));
    }
    answers = std::get<ResumeAnswers>(std::move(verdict));
  } else if (!news.has_user_message && news.results == 0) {
    co_return ThreadAnswer(Show(request, thread));
  } else if (std::ranges::any_of(thread.interrupts, [&](const OpenInterrupt& interrupt) {
               return !interrupt.expires_at || *interrupt.expires_at > clock_.Now();
             })) {
    co_return ThreadAnswer(Refuse(
        request, "calls wait for an approval; answer them with \"resume\"", kResumeRequired));
  }
  const bool goes_on = news.has_user_message || !answers.empty();
  if (!goes_on && news.results < thread.client_calls.size()) {
    co_return ThreadAnswer(Refuse(request, "every open call of a tool of the client needs a result",
                                  "TOOL_RESULTS_MISSING"));
  }
  SkipCalls(thread, news);

  TurnSpec spec{.agent = request.agent,
                .id = NewTurnId(),
                .input = std::move(news.input),
                .previous = thread.turn,
                .client_tools = input.tools,
                .style = TurnSpec::Style::kBackground,
                .answered_by = request.user,
                .caller = request.caller};
  for (TurnItem& item : StateResults(thread)) spec.input.push_back(std::move(item));
  for (ApprovalAnswer& answer : answers) {
    spec.input.push_back({.id = "", .content = std::move(answer)});
  }
  if (input.state) MergeState(thread.state, *input.state);
  spec.instructions = RequestInstructions(input, news.instructions, thread.state);
  thread.under_way = RunUnderWay{.run_id = input.run_id,
                                 .turn = *spec.id,
                                 .messages = thread.messages.size(),
                                 .since = clock_.Now()};
  for (Value& message : news.messages) thread.messages.push_back(std::move(message));
  std::string run_id = input.run_id;
  co_return co_await Begin({.key = std::move(key),
                            .request = std::move(request),
                            .stored = *std::move(stored),
                            .run = std::move(run),
                            .run_id = std::move(run_id)},
                           std::move(spec), place);
}

asio::awaitable<Result<ThreadAnswer>> ThreadRuns::Begin(Course course, TurnSpec spec,
                                                        Place& place) {
  const bool answers = std::ranges::any_of(spec.input, [](const TurnItem& item) {
    return std::holds_alternative<ApprovalAnswer>(item.content);
  });
  const bool shares_state = !IsEmptyState(course.stored.thread.state);
  const bool is_named = std::ranges::any_of(
      spec.client_tools, [](const auto& tool) { return tool.name == kStateTool; });
  if (shares_state && !is_named) spec.client_tools.push_back(StateToolDeclaration());
  auto saved = co_await Save(course.key, course.stored);
  if (!saved) co_return std::move(saved).error();
  const ResponseId turn = *spec.id;
  auto started = co_await turns_.StartDetached(course.request.owner, std::move(spec));
  if (!started) {
    // As if the request had not come. The interrupts are still open.
    Thread& thread = course.stored.thread;
    thread.messages.resize(std::min(thread.messages.size(), thread.under_way->messages));
    thread.under_way.reset();
    const Error& error = started.error();
    const bool refused = error.code() == ErrorCode::kInvalidArgument;
    const bool lost =
        error.code() == ErrorCode::kFailedPrecondition || error.code() == ErrorCode::kNotFound;
    // Decided elsewhere, or gone: nothing that a client can answer any more.
    if (answers && lost) thread.interrupts.clear();
    static_cast<void>(co_await Save(course.key, course.stored));
    if (answers && (refused || lost)) {
      co_return ThreadAnswer(Refuse(course.request, error.message(),
                                    refused ? kResumeInvalidResponse : kResumeNotFound));
    }
    co_return error;
  }
  const Thread& thread = course.stored.thread;
  std::vector<std::string> catch_up = {ToText(MessagesSnapshot(thread.messages), clock_.Now())};
  // Counted before the run begins, as above.
  ThreadRun::Follower follower(course.run, ThreadRun::Place::kFirst);
  course.run->Begin(thread, turn, std::move(catch_up));
  Push(course, RunStarted(course.request.input.thread_id, course.run_id));
  if (shares_state) Push(course, StateSnapshot(thread.state));
  place.Keep();
  Launch(std::move(course));
  co_return ThreadAnswer(std::move(follower));
}

// Nothing that was asked about is executed: the runs that wait end, with all that they would still
// do.
asio::awaitable<WholeAnswer> ThreadRuns::CancelInterrupts(Course course) {
  Thread& thread = course.stored.thread;
  const std::vector<WaitingCall> none;
  for (const WaitingCall& call : thread.interrupts.empty() ? none : thread.waiting) {
    const auto cancelled = co_await cancel_run_(course.request.owner, RunId(call.run));
    if (!cancelled && cancelled.error().code() != ErrorCode::kNotFound) {
      co_return Refuse(course.request, "the run could not be cancelled; try again",
                       "CANCEL_FAILED");
    }
  }
  thread.interrupts.clear();
  thread.last_run = course.request.input.run_id;
  static_cast<void>(co_await Save(course.key, course.stored));
  co_return Show(course.request, thread, {.outcome = Finish::Outcome::kCancelled});
}

asio::awaitable<Result<void>> ThreadRuns::Cancel(IsolationKey owner, std::string agent,
                                                 std::string thread_id) {
  const Key key(owner, ThreadDocument(agent, thread_id));
  auto stored = co_await Load(key);
  if (!stored) co_return std::move(stored).error();
  if (!stored->thread.under_way) co_return Result<void>();
  auto cancelled = co_await turns_.Cancel(std::move(owner), stored->thread.under_way->turn);
  if (cancelled || cancelled.error().code() == ErrorCode::kNotFound) co_return Result<void>();
  co_return std::move(cancelled).error();
}

// ---- The stored thread ----

asio::awaitable<Result<ThreadRuns::Stored>> ThreadRuns::Load(const Key& key) {
  auto document = co_await threads_.Find(key.first, key.second);
  if (!document) {
    if (document.error().code() == ErrorCode::kNotFound) co_return Stored{};
    co_return std::move(document).error();
  }
  Stored stored{.version = document->version};
  // A body that cannot be read does not block the thread: it begins anew.
  if (auto thread = DecodeThread(document->body)) stored.thread = *std::move(thread);
  co_return stored;
}

asio::awaitable<Result<void>> ThreadRuns::Save(const Key& key, Stored& stored) {
  auto body = Encode(stored.thread);
  if (!body) co_return std::move(body).error();
  auto version =
      co_await threads_.Save(key.first, key.second, stored.version, *std::move(body), clock_.Now());
  if (!version) {
    // Another replica was faster.
    if (version.error().code() == ErrorCode::kFailedPrecondition) co_return Busy();
    co_return std::move(version).error();
  }
  stored.version = *version;
  co_return Result<void>();
}

asio::awaitable<Result<bool>> ThreadRuns::Settle(const Key& key, Stored& stored) {
  Thread& thread = stored.thread;
  const RunUnderWay run = *thread.under_way;
  const auto turn = co_await turns_.Find(key.first, run.turn);
  if (!turn && turn.error().code() != ErrorCode::kNotFound) co_return turn.error();
  if (turn && IsUnderWay(*turn)) co_return true;
  if (turn) {
    AddOutput(thread, *turn);
    thread.last_run = run.run_id;
  } else {
    if (clock_.Now() < run.since + kStarting) co_return Busy();
    thread.messages.resize(std::min(thread.messages.size(), run.messages));
    thread.under_way.reset();
  }
  auto saved = co_await Save(key, stored);
  // A thread that has no room for its last answer can still be shown.
  if (!saved && saved.error().code() != ErrorCode::kResourceExhausted) {
    co_return std::move(saved).error();
  }
  co_return false;
}

// ---- Whole answers ----

WholeAnswer ThreadRuns::Whole(const std::vector<Dict>& events) const {
  WholeAnswer answer;
  for (const Dict& event : events) answer.events.push_back(ToText(event, clock_.Now()));
  return answer;
}

WholeAnswer ThreadRuns::Refuse(const ThreadRequest& request, std::string_view message,
                               std::string_view code) const {
  return Whole(
      {RunStarted(request.input.thread_id, request.input.run_id), RunError(message, code)});
}

WholeAnswer ThreadRuns::Show(const ThreadRequest& request, const Thread& thread,
                             Finish finish) const {
  return Whole(Hydration(request.input.thread_id, request.input.run_id, thread, std::move(finish)));
}

}  // namespace caisson::agui
