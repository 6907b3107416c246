#include "runs/journal/run_journal.h"

#include <algorithm>
#include <utility>

#include "approval/binding.h"
#include "base/rfc3339.h"

namespace caisson {
namespace {

// Arguments in memory for the outcome. One call's, and those of all calls together; the store has
// them all.
constexpr std::size_t kMaxShownBytes = kMaxOutcomeArgumentBytes;
constexpr std::size_t kMaxKeptBytes = kMaxOutcomeArgumentsBytes;

bool IsAnswered(CallState state) {
  return state == CallState::kReturned || state == CallState::kRaised ||
         state == CallState::kDenied;
}

// When the code was told, of an answer or of a doubt.
SystemTime ToldAt(const StoredCall& call) {
  const auto record = DecodeAnswerRecord(call.result);
  return record ? record->at : call.updated_at;
}

ToolRaised Uncertain(const std::string& tool) {
  return {.type = "UncertainError",
          .message = "nobody knows whether " + tool +
                     " was done: what ran it stopped while it was under way. It is not done again"};
}

ToolDenied Denial(const StoredApproval& approval) {
  const std::string& tool = approval.asked.binding.tool;
  if (approval.state == ApprovalState::kExpired) {
    return {"nobody approved " + tool + " in time"};
  }
  std::string text = tool + " was not approved";
  if (approval.decision && !approval.decision->reason.empty()) {
    text += ": " + approval.decision->reason;
  }
  return {text};
}

OutcomeCall ToOutcome(const StoredCall& call, std::string_view text) {
  static constexpr const char* kOutcomes[] = {"pending", "uncertain", "returned",
                                              "raised",  "denied",    "uncertain"};
  auto arguments = ParseArguments(text, call.call.arguments_digest);
  return {.seq = call.call.seq,
          .tool = call.call.tool,
          .arguments = arguments ? Value(*std::move(arguments)) : Value(),
          .outcome = kOutcomes[static_cast<std::size_t>(call.call.state)],
          .duration = call.updated_at - call.begun_at};
}

}  // namespace

std::string_view ShownArguments::Show(std::string_view text) {
  if (text.size() > std::min(kMaxShownBytes, left_)) return {};
  left_ -= text.size();
  return text;
}

std::vector<OutcomeCall> ToOutcome(const std::vector<StoredCall>& calls) {
  std::vector<OutcomeCall> shown;
  ShownArguments arguments;
  for (const StoredCall& call : calls) {
    shown.push_back(ToOutcome(call, arguments.Show(call.call.arguments)));
  }
  return shown;
}

OutcomeApproval ToOutcome(const StoredApproval& approval, std::string_view text) {
  const CallBinding& binding = approval.asked.binding;
  auto arguments = ParseArguments(text, binding.arguments_digest);
  return {.id = approval.asked.id.str(),
          .seq = binding.seq,
          .tool = binding.tool,
          .arguments = arguments ? Value(*std::move(arguments)) : Value(),
          .expires_at = ToRfc3339(approval.asked.expires_at)};
}

RunJournal::RunJournal(JournalOptions options) : options_(std::move(options)) {
  auto state = state_.Lock();
  for (StoredCall& call : std::exchange(options_.recorded, {})) {
    if (call.call.state != CallState::kPending) {
      state->order.push_back(call.call.seq);
      state->last = std::max(state->last, ToldAt(call));
    }
    state->stored_bytes += call.call.arguments.size() + call.call.trace.size() + call.result.size();
    const std::uint32_t seq = call.call.seq;
    state->entries.emplace(seq, Entry{.stored = std::move(call)});
  }
  std::ranges::sort(state->order, {}, [&](std::uint32_t seq) {
    return std::pair(ToldAt(state->entries.at(seq).stored), seq);
  });
  state->unasked = state->entries.size();
}

// ---- Before ----

std::string RunJournal::IdempotencyKeyOf(std::uint32_t seq) const {
  return options_.run.str() + "/" + std::to_string(seq);
}

RunJournal::Written RunJournal::Write(const JournaledCall& call) {
  Written written{
      .call = {.seq = call.seq, .tool = call.name, .idempotency_key = IdempotencyKeyOf(call.seq)},
      .refused = call.refused};
  written.call.arguments = call.arguments->text;
  written.call.arguments_digest = call.arguments->digest;
  if (call.tool == nullptr) return written;
  auto state = state_.Lock();
  auto found = state->tool_digests.find(call.tool);
  if (found == state->tool_digests.end()) {
    found = state->tool_digests.emplace(call.tool, ToolDigest(*call.tool)).first;
  }
  const Result<std::string>& digest = found->second;
  if (digest) {
    written.call.tool_digest = *digest;
  } else if (!written.refused) {
    written.refused = ToRaised(digest.error());
  }
  return written;
}

void RunJournal::Open(State& state, std::uint32_t seq) {
  ++state.open;
  ++state.changes;
  state.made = std::max(state.made, seq + 1);
}

// The run does not wait for people alone as long as a call is on its way to Before().
void RunJournal::Expect(std::uint32_t seq) {
  auto state = state_.Lock();
  state->expected.insert(seq);
  Open(*state, seq);
}

asio::awaitable<CallJournal::CallDecision> RunJournal::Before(JournaledCall call) {
  Written written = Write(call);
  bool again = false;
  {
    auto state = state_.Lock();
    if (state->stopped || state->frozen || state->fault != Fault::kNone) co_return Left{};
    if (state->expected.erase(call.seq) == 0) Open(*state, call.seq);
    const auto found = state->entries.find(call.seq);
    again = found != state->entries.end();
    if (again && !std::exchange(found->second.asked, true)) --state->unasked;
    if (!again && !call.trace.empty()) state->unstored.emplace(call.seq, call.trace);
  }
  auto decision = again ? BeginAgain(call, written) : BeginNew(call, std::move(written));
  co_return co_await std::move(decision);
}

// It begins as pending if somebody must be asked.
asio::awaitable<Result<void>> RunJournal::Judge(const JournaledCall& call, NewCall& row) {
  if (!call.needs_approval) co_return Result<void>();
  const std::optional<CallSession> session = state_.Lock()->session;
  auto judged = co_await options_.desk.Judge(
      options_.owner,
      {.place = {.run = options_.run, .seq = call.seq, .code_digest = options_.code_digest},
       .tool = call.tool,
       .arguments = call.arguments,
       .needs_approval = call.needs_approval,
       .session = session});
  if (!judged) co_return std::move(judged).error();
  if (judged->kind == Ruling::Kind::kAsk) row.state = CallState::kPending;
  row.grant = std::move(judged->grant);
  co_return Result<void>();
}

asio::awaitable<CallJournal::CallDecision> RunJournal::BeginNew(const JournaledCall& call,
                                                                Written written) {
  // Nothing new is done by code that may turn out to be other code.
  const bool caught_up = co_await Until([](const State& state) { return state.unasked == 0; });
  if (!caught_up) co_return Left{};
  if (!Charge(call.arguments->text.size() + call.trace.size())) co_return FailFull();
  if (written.refused) co_return co_await BeginRefused(std::move(written), call.arguments);
  auto judged = co_await Insist<void>([&](Try) { return Judge(call, written.call); });
  if (!judged) co_return Lose(judged.error());
  if (written.call.state == CallState::kPending) {
    auto begun = co_await AddRow(std::move(written.call), call.arguments);
    if (!begun) co_return Lose(begun.error());
    // Only here: what was asked once stays asked, however many wait by the time the run is taken
    // up.
    auto room = co_await Insist<void>([&](Try) { return CheckWaiting(); });
    if (!room) co_return NotAsked(room.error());
    co_return co_await AskAndWait(call.seq);
  }
  const SystemTime now = options_.clock.Now();
  written.call.state = CallState::kPending;
  written.call.arguments = {};
  state_.Lock()->entries.emplace(
      call.seq,
      Entry{.stored = {.call = std::move(written.call), .begun_at = now, .updated_at = now},
            .arguments = call.arguments,
            .asked = true});
  // A tool that needs a yes has it from a grant.
  co_return GoAhead{Consent::kGiven, IdempotencyKeyOf(call.seq)};
}

// Nothing is done for it, so it is never started.
asio::awaitable<CallJournal::CallDecision> RunJournal::BeginRefused(
    Written written, std::shared_ptr<const CanonicalArguments> arguments) {
  written.call.state = CallState::kPending;
  auto begun = co_await AddRow(std::move(written.call), std::move(arguments));
  if (!begun) co_return Lose(begun.error());
  co_return Instead{*std::move(written.refused)};
}

// Returns the readings of clocks that the code received before this call. They are stored with the
// call, whether or not the earlier calls are stored.
std::string RunJournal::TakeTrace(std::uint32_t seq) {
  auto state = state_.Lock();
  std::vector<TracePart> parts;
  const auto later = state->unstored.upper_bound(seq);
  for (auto part = state->unstored.begin(); part != later; ++part) {
    parts.push_back({.seq = part->first, .bytes = std::move(part->second)});
  }
  state->unstored.erase(state->unstored.begin(), later);
  return Encode(parts);
}

asio::awaitable<Result<void>> RunJournal::AddRow(
    NewCall call, std::shared_ptr<const CanonicalArguments> arguments) {
  const SystemTime now = options_.clock.Now();
  call.trace = TakeTrace(call.seq);
  auto begun = co_await Insist<void>([&](Try which) {
    return runs().BeginCall(options_.owner, options_.run, For(options_.lease, which), call, now);
  });
  if (!begun) co_return begun;
  call.trace = {};
  auto state = state_.Lock();
  Entry& entry = state->entries[call.seq];
  if (arguments) call.arguments = {};
  entry.stored = {.call = std::move(call), .begun_at = now, .updated_at = now};
  entry.arguments = std::move(arguments);
  entry.asked = true;
  co_return begun;
}

asio::awaitable<bool> RunJournal::Start(std::uint32_t seq) {
  NewCall call;
  std::shared_ptr<const CanonicalArguments> arguments;
  std::optional<ApprovalUse> approval;
  {
    auto state = state_.Lock();
    if (state->stopped || state->frozen || state->fault != Fault::kNone) co_return false;
    const Entry& entry = state->entries.at(seq);
    call = entry.stored.call;
    call.arguments = entry.text();
    arguments = entry.arguments;
    if (entry.approval) {
      const auto& decision = entry.approval->decision;
      approval.emplace(entry.approval->asked.id,
                       decision && decision->edited ? decision->edited->digest : std::string());
    }
  }
  // Each of them is refused if another replica has the run: then the call is not started.
  Result<void> started;
  if (call.state == CallState::kUncertain) {
    started = co_await Insist<void>([&, now = options_.clock.Now()](Try which) {
      return runs().RetryCall(options_.owner, options_.run, For(options_.lease, which), seq, now);
    });
  } else if (approval) {
    started = co_await Insist<void>([&, now = options_.clock.Now()](Try which) {
      return runs().StartCall(options_.owner, options_.run, For(options_.lease, which), seq,
                              *approval, now);
    });
  } else {
    call.state = CallState::kStarted;
    started = co_await AddRow(std::move(call), std::move(arguments));
  }
  if (!started) {
    Lose(started.error());
    co_return false;
  }
  state_.Lock()->entries.at(seq).stored.call.state = CallState::kStarted;
  co_return true;
}

asio::awaitable<CallJournal::CallDecision> RunJournal::BeginAgain(const JournaledCall& call,
                                                                  const Written& written) {
  const StoredCall stored = [&] {
    auto state = state_.Lock();
    Entry& entry = state->entries.at(call.seq);
    StoredCall copy{.call = entry.stored.call,
                    .edited = entry.stored.edited,
                    .begun_at = entry.stored.begun_at,
                    .updated_at = entry.stored.updated_at};
    if (copy.call.arguments_digest == call.arguments->digest) {
      entry.stored.call.arguments = {};
      entry.arguments = call.arguments;
    }
    return copy;
  }();
  if (stored.call.tool != written.call.tool ||
      stored.call.arguments_digest != written.call.arguments_digest) {
    co_return Fail(Fault::kDiverged, "call " + std::to_string(call.seq) + " was of " +
                                         stored.call.tool + ", and is of " + written.call.tool +
                                         " or has other arguments now");
  }
  if (IsAnswered(stored.call.state)) co_return co_await GiveRecorded(call.seq);
  const bool same_tool = call.tool != nullptr && !written.refused &&
                         stored.call.tool_digest == written.call.tool_digest;
  if (stored.call.state == CallState::kUncertain) {
    const bool repeatable = same_tool && call.tool->definition().repeat == Repeat::kIdempotent;
    auto decision = repeatable ? Retry(call, stored.edited) : GiveRecorded(call.seq);
    co_return co_await std::move(decision);
  }
  if (written.refused && stored.call.tool_digest == written.call.tool_digest) {
    co_return Instead{*written.refused};
  }
  if (!same_tool) {
    co_return Instead{ToolDenied{call.name + " has changed since somebody was asked about it"}};
  }
  co_return co_await AskAndWait(call.seq);
}

CallJournal::CallDecision RunJournal::Go(std::uint32_t seq,
                                         const std::optional<EditedArguments>& edited) const {
  GoAhead go{Consent::kGiven, IdempotencyKeyOf(seq)};
  if (edited) {
    go.edited = std::make_shared<CanonicalArguments>(
        CanonicalArguments{.text = edited->text, .digest = edited->digest});
  }
  return go;
}

asio::awaitable<CallJournal::CallDecision> RunJournal::Retry(
    const JournaledCall& call, std::optional<EditedArguments> edited) {
  {
    auto state = state_.Lock();
    std::erase(state->order, call.seq);  // Its answer comes when it comes.
  }
  Wake();
  const bool caught_up = co_await Until([](const State& state) { return state.unasked == 0; });
  if (!caught_up) co_return Left{};
  // Whoever had to say yes to it has done so: it was started.
  co_return Go(call.seq, edited);
}

asio::awaitable<CallJournal::CallDecision> RunJournal::GiveRecorded(std::uint32_t seq) {
  const bool our_turn = co_await Until([seq](const State& state) {
    return state.given < state.order.size() && state.order[state.given] == seq;
  });
  if (!our_turn) co_return Left{};
  const StoredCall stored = state_.Lock()->entries.at(seq).stored;
  Recorded recorded{.answer = Uncertain(stored.call.tool), .at = stored.updated_at};
  if (stored.call.state != CallState::kUncertain) {
    auto record = DecodeAnswerRecord(stored.result);
    if (!record) co_return Fail(Fault::kLost, record.error().message());
    recorded = {.answer = std::move(record->answer), .at = record->at};
  }
  ++state_.Lock()->given;
  Close(seq);  // Wakes the next by posting, so the code has this answer first.
  co_return recorded;
}

// ---- Asking ----

asio::awaitable<Result<void>> RunJournal::CheckWaiting() {
  const WaitingLimits& most = options_.waiting;
  const auto usage = co_await runs().Usage(options_.owner);
  if (!usage) co_return usage.error();
  if (usage->waiting_runs >= most.runs) {
    co_return Error(ErrorCode::kResourceExhausted,
                    "too many of your runs wait already (limit " + std::to_string(most.runs) +
                        ", runs.max_waiting); decide or cancel one first");
  }
  if (usage->saved_bytes >= most.saved_bytes) {
    co_return Error(ErrorCode::kResourceExhausted,
                    "your waiting runs take too much room already (limit " +
                        std::to_string(most.saved_bytes) + " bytes); decide or cancel one first");
  }
  if (options_.total == nullptr) co_return Result<void>();
  const auto all = co_await options_.total->BeforeOneMore();
  if (!all) co_return all.error();
  if (all->waiting_runs >= most.runs_in_all || all->saved_bytes >= most.saved_bytes_in_all) {
    co_return Error(ErrorCode::kResourceExhausted,
                    "the server has too many waiting runs; try again later");
  }
  co_return Result<void>();
}

CallJournal::CallDecision RunJournal::NotAsked(const Error& why) {
  if (why.code() != ErrorCode::kResourceExhausted) return Lose(why);
  return Instead{ToolDenied{"nobody can be asked now: " + why.message()}};
}

asio::awaitable<Result<StoredApproval>> RunJournal::Ask(std::uint32_t seq) {
  const NewCall call = [&] {
    auto state = state_.Lock();
    const Entry& entry = state->entries.at(seq);
    NewCall copy = entry.stored.call;
    copy.arguments = entry.text();
    return copy;
  }();
  const std::optional<CallSession> session = state_.Lock()->session;
  co_return co_await options_.desk.Ask(options_.owner,
                                       {.binding = {.run = options_.run,
                                                    .seq = seq,
                                                    .tool = call.tool,
                                                    .tool_digest = call.tool_digest,
                                                    .arguments_digest = call.arguments_digest,
                                                    .code_digest = options_.code_digest},
                                        .arguments = call.arguments,
                                        .session = session});
}

asio::awaitable<CallJournal::CallDecision> RunJournal::AskAndWait(std::uint32_t seq) {
  // A decision can be stored before Ask returns: ReadDecisions looks for it from here on.
  state_.Lock()->entries.at(seq).asking = true;
  auto approval = co_await Insist<StoredApproval>([&](Try) { return Ask(seq); });
  state_.Lock()->entries.at(seq).asking = false;
  if (!approval) co_return NotAsked(approval.error());
  std::optional<StoredApproval> question;
  if (options_.on_ask && approval->state == ApprovalState::kPending) question = *approval;
  {
    auto state = state_.Lock();
    Entry& entry = state->entries.at(seq);
    if (!entry.approval) SetApproval(entry, *std::move(approval));
    entry.waits = true;
    ++state->waiting;
  }
  if (question) options_.on_ask(*question);
  Changed();
  const bool decided = co_await Until([seq](const State& state) {
    return state.frozen ||
           (!state.parking && state.entries.at(seq).approval->state != ApprovalState::kPending);
  });
  StoredApproval decision = [&] {
    auto state = state_.Lock();
    Entry& entry = state->entries.at(seq);
    if (decided && !state->frozen) {
      entry.waits = false;
      --state->waiting;
    }
    return *entry.approval;
  }();
  if (!decided || state_.Lock()->frozen) co_return Left{};
  Changed();
  if (decision.state != ApprovalState::kApproved) co_return Instead{Denial(decision)};
  co_return Go(seq, decision.decision ? decision.decision->edited : std::nullopt);
}

void RunJournal::SetApproval(Entry& entry, StoredApproval approval) {
  approval.asked.arguments = {};  // The entry has them.
  entry.approval = std::move(approval);
}

std::vector<ApprovalId> RunJournal::Undecided() const {
  std::vector<ApprovalId> ids;
  auto state = state_.Lock();
  for (const auto& [seq, entry] : state->entries) {
    const bool pending = entry.approval && entry.approval->state == ApprovalState::kPending;
    if (entry.asking || (entry.waits && pending)) ids.push_back(ApprovalIdOf(options_.run, seq));
  }
  return ids;
}

asio::awaitable<void> RunJournal::ReadDecisions() {
  for (const ApprovalId& id : Undecided()) {
    const StorePatience::Operation<StoredApproval> find = [&](Try) {
      return options_.store.approvals().Find(options_.owner, id);
    };
    auto found = co_await find(Try::kFirst);
    if (!found && options_.patience != nullptr && IsStoreFailure(found.error())) {
      found = co_await options_.patience->Repeat<StoredApproval>(
          find, std::move(found).error(), [this] { return !state_.Lock()->stopped; });
    }
    if (found && found->state != ApprovalState::kPending) Decide(*found);
  }
}

void RunJournal::Decide(const StoredApproval& approval) {
  {
    auto state = state_.Lock();
    const auto found = state->entries.find(approval.asked.binding.seq);
    if (found == state->entries.end()) return;
    // It may come before the call has looked for itself.
    SetApproval(found->second, approval);
  }
  Wake();
}

// ---- After ----

asio::awaitable<std::optional<SystemTime>> RunJournal::After(std::uint32_t seq,
                                                             const ToolAnswer& answer) {
  // In the order of the record first. What happened is written down even if the run has ended.
  co_await Until([](const State& state) { return state.given == state.order.size(); });
  CallState end = CallState::kRaised;
  SystemTime at{};
  {
    auto state = state_.Lock();
    if (state->fault != Fault::kNone) co_return std::nullopt;
    at = NextTime(*state);
    const bool pending = state->entries.at(seq).stored.call.state == CallState::kPending;
    if (pending && std::holds_alternative<ToolDenied>(answer)) {
      end = CallState::kDenied;
    } else if (std::holds_alternative<Value>(answer)) {
      end = CallState::kReturned;
    }
  }
  const AnswerRecord record{.answer = answer, .at = at};
  auto bytes = Encode(record);
  if (!bytes) bytes = Encode(AnswerRecord{.answer = ToRaised(bytes.error()), .at = at});
  // The call happened, so it has an end in the journal; its answer is not kept, and the code does
  // not get it.
  const bool fits = Charge(bytes->size());
  if (!fits) {
    end = end == CallState::kDenied ? end : CallState::kRaised;
    bytes = Encode(AnswerRecord{
        .answer = ToolRaised{.type = "LimitError", .message = "there was no room for the answer"},
        .at = at});
  }
  auto finished = co_await Insist<void>(
      [&](Try which) {
        return runs().FinishCall(options_.owner, options_.run, For(options_.lease, which), seq, end,
                                 *bytes, at);
      },
      Need::kAlways);
  if (!finished) {
    Lose(finished.error());
    co_return std::nullopt;
  }
  {
    auto state = state_.Lock();
    StoredCall& stored = state->entries.at(seq).stored;
    stored.call.state = end;
    stored.updated_at = at;
  }
  Close(seq);
  if (fits) co_return at;
  FailFull();
  co_return std::nullopt;
}

bool RunJournal::Charge(std::uint64_t bytes) {
  auto state = state_.Lock();
  const std::uint64_t left = options_.max_bytes - std::min(options_.max_bytes, state->stored_bytes);
  if (bytes > left) return false;
  state->stored_bytes += bytes;
  return true;
}

CallJournal::CallDecision RunJournal::FailFull() {
  return Fail(Fault::kLimit, "the arguments and answers of the run's calls have more than " +
                                 std::to_string(options_.max_bytes) +
                                 " bytes (runs.max_journal_bytes)");
}

// Grows, whatever the host's clock does: the order of answers is that of their times.
SystemTime RunJournal::NextTime(State& state) const {
  const auto now = std::chrono::floor<std::chrono::microseconds>(options_.clock.Now());
  state.last = std::max<SystemTime>(now, state.last + std::chrono::microseconds(1));
  return state.last;
}

// ---- What the run waits for ----

asio::awaitable<Result<void>> RunJournal::Park(std::optional<SavedRun> saved) {
  state_.Lock()->parking = true;
  auto parked = co_await runs().Wait(options_.owner, options_.run, options_.lease, std::move(saved),
                                     options_.clock.Now());
  state_.Lock()->parking = false;
  Wake();
  co_return parked;
}

template <typename T>
asio::awaitable<Result<T>> RunJournal::Insist(StorePatience::Operation<T> operation, Need need) {
  auto result = co_await operation(Try::kFirst);
  if (result || options_.patience == nullptr || !IsStoreFailure(result.error())) co_return result;
  Stall(true);
  const auto wanted = [this, need] {
    auto state = state_.Lock();
    const bool under_way = !state->stopped && !state->frozen && state->fault == Fault::kNone;
    return under_way || need == Need::kAlways;
  };
  result = co_await options_.patience->Repeat<T>(std::move(operation), std::move(result).error(),
                                                 wanted);
  Stall(false);
  co_return result;
}

void RunJournal::Stall(bool begins) {
  begins ? ++state_.Lock()->stalled : --state_.Lock()->stalled;
  if (options_.on_change) options_.on_change();
}

asio::awaitable<bool> RunJournal::Until(std::function<bool(const State&)> ready) {
  while (true) {
    auto sleeper = std::make_shared<Wakeup>();
    {
      auto state = state_.Lock();
      if (state->stopped || state->fault != Fault::kNone) co_return false;
      if (ready(*state)) co_return true;
      state->sleepers.push_back(sleeper);
    }
    if (co_await sleeper->Sleep() == Wakeup::Reason::kCancelled) co_return false;
  }
}

// A run that has ended while the store failed has no fault: how it ended is stored when the store
// works.
CallJournal::CallDecision RunJournal::Lose(const Error& error) {
  if (IsStoreFailure(error) && state_.Lock()->stopped) return Left{};
  return Fail(Fault::kLost, error.message());
}

CallJournal::CallDecision RunJournal::Fail(Fault fault, std::string why) {
  {
    auto state = state_.Lock();
    if (state->fault == Fault::kNone) {
      state->fault = fault;
      state->fault_text = std::move(why);
    }
  }
  Wake();
  Changed();
  return Left{};
}

void RunJournal::Wake() {
  const auto sleepers = std::exchange(state_.Lock()->sleepers, {});
  for (const auto& sleeper : sleepers) sleeper->Wake();
}

void RunJournal::Changed() {
  ++state_.Lock()->changes;
  if (options_.on_change) options_.on_change();
}

void RunJournal::Close(std::uint32_t seq) {
  {
    auto state = state_.Lock();
    --state->open;
    Entry& entry = state->entries.at(seq);
    entry.stored.result = {};  // The code has it.
    const std::size_t size = entry.text().size();
    if (size > kMaxShownBytes || size > kMaxKeptBytes - state->kept_bytes) {
      entry.arguments.reset();
      entry.stored.call.arguments = {};
    } else {
      state->kept_bytes += size;
    }
  }
  Wake();
  Changed();
}

void RunJournal::EnterSession(CallSession session) {
  state_.Lock()->session = std::move(session);
}

void RunJournal::Freeze() {
  state_.Lock()->frozen = true;
  Wake();
}

void RunJournal::Stop() {
  state_.Lock()->stopped = true;
  Wake();
}

bool RunJournal::quiet() const {
  auto state = state_.Lock();
  return state->waiting == state->open && !state->stopped && state->fault == Fault::kNone;
}

bool RunJournal::waits() const {
  auto state = state_.Lock();
  return state->waiting > 0 && state->waiting == state->open && !state->stopped &&
         state->fault == Fault::kNone;
}

bool RunJournal::stalls() const {
  auto state = state_.Lock();
  return state->stalled > 0 && state->stalled + state->waiting >= state->open;
}

std::uint64_t RunJournal::changes() const {
  return state_.Lock()->changes;
}

std::uint32_t RunJournal::made() const {
  return state_.Lock()->made;
}

RunJournal::Fault RunJournal::fault() const {
  return state_.Lock()->fault;
}

std::string RunJournal::fault_text() const {
  return state_.Lock()->fault_text;
}

bool RunJournal::caught_up() const {
  return state_.Lock()->unasked == 0;
}

std::vector<OutcomeCall> RunJournal::calls() const {
  std::vector<OutcomeCall> calls;
  auto state = state_.Lock();
  ShownArguments arguments;
  for (const auto& [seq, entry] : state->entries) {
    calls.push_back(ToOutcome(entry.stored, arguments.Show(entry.text())));
  }
  return calls;
}

std::vector<OutcomeApproval> RunJournal::approvals() const {
  std::vector<OutcomeApproval> approvals;
  ShownArguments arguments;
  auto state = state_.Lock();
  for (const auto& [seq, entry] : state->entries) {
    if (entry.waits && entry.approval && entry.approval->state == ApprovalState::kPending) {
      approvals.push_back(ToOutcome(*entry.approval, arguments.Show(entry.text())));
    }
  }
  return approvals;
}

}  // namespace caisson
