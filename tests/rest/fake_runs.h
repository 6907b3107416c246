// A RunService for tests: the code says how its run goes.
//
//   "wait"          waits for an approval of a call send(to="ann")
//   "wait lots"     the same, with long arguments
//   "hang"          continues until it is cancelled
//   "busy"          fails with kResourceExhausted
//   "bug"           fails with kInternal and a secret in its message
//   "full"          fails with kNoSpace
//   "down"          fails with kUnavailable
//   anything else   prints "hé" in two pieces, leaves a file, and returns 42
//
// Trust     For tests.
// Threads   Any; one lock.
// Lifetime  Outlives the requests.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <map>
#include <string>
#include <utility>

#include "approval/binding.h"
#include "base/guarded.h"
#include "runs/run_service.h"

namespace caisson::rest {

class FakeRuns final : public RunService {
 public:
  std::promise<void> hanging;
  std::promise<void> cancelled;
  // The next FindByKey finds nothing, and a moment later another request has started "wait" with
  // that key.
  bool another_is_faster = false;
  std::string fingerprint_of_another;
  std::size_t started() { return state_.Lock()->runs.size(); }

  asio::awaitable<Result<RunView>> Start(IsolationKey owner, RunSpec request) override {
    if (request.code == "busy") co_return Error(ErrorCode::kResourceExhausted, "too much");
    if (request.code == "full") co_return Error(ErrorCode::kNoSpace, "no room");
    if (request.code == "down") co_return Error(ErrorCode::kUnavailable, "not now");
    if (request.code == "bug") co_return Error(ErrorCode::kInternal, "the secret reason");
    if (request.key && !Take(owner, *request.key)) {
      co_return Error(ErrorCode::kFailedPrecondition, "another request used this key");
    }
    RunView run = Create(owner, request.code);
    if (request.on_start) request.on_start(run.id);
    if (request.code == "hang") {
      hanging.set_value();
      asio::steady_timer forever(co_await asio::this_coro::executor,
                                 asio::steady_timer::time_point::max());
      co_await forever.async_wait(asio::as_tuple(asio::use_awaitable));
      cancelled.set_value();
    }
    if (request.on_output) {
      request.on_output(OutputStream::kStdout, "h\xc3");
      request.on_output(OutputStream::kStdout, "\xa9");
    }
    request.code.starts_with("wait") ? Park(owner, run) : Finish(run);
    state_.Lock()->runs.insert_or_assign({owner, run.id}, run);
    co_return run;
  }
  asio::awaitable<Result<RunView>> StartDetached(IsolationKey owner, RunSpec request) override {
    if (request.key && !Take(owner, *request.key)) {
      co_return Error(ErrorCode::kFailedPrecondition, "another request used this key");
    }
    RunView run = Create(owner, request.code);
    if (request.on_start) request.on_start(run.id);
    co_return run;
  }
  asio::awaitable<Result<RunView>> Find(IsolationKey owner, RunId id) override {
    co_return Look(owner, id);
  }
  asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey owner, IdempotencyKey key) override {
    if (std::exchange(another_is_faster, false)) {
      static_cast<void>(co_await Start(
          owner,
          {.code = "wait", .key = RunKey{.id = key, .fingerprint = fingerprint_of_another}}));
      co_return Error(ErrorCode::kNotFound, "not when it looked");
    }
    auto locked = state_.Lock();
    const auto found = locked->keys.find({owner, key});
    if (found == locked->keys.end()) co_return Error(ErrorCode::kNotFound, "no such key");
    co_return found->second;
  }
  asio::awaitable<Result<Page<RunView>>> List(IsolationKey owner, std::optional<RunState> state,
                                              PageQuery query) override {
    Page<RunView> page;
    auto locked = state_.Lock();
    for (auto& [key, run] : locked->runs) {
      if (key.first != owner || (state && run.state != *state)) continue;
      if (query.after && key.second.str() <= *query.after) continue;
      if (page.items.size() == query.limit) {
        page.next = page.items.back().id.str();
        break;
      }
      page.items.push_back(run);
    }
    co_return page;
  }
  asio::awaitable<Result<RunView>> Await(IsolationKey owner, RunId id, std::set<std::string>,
                                         std::chrono::steady_clock::time_point) override {
    co_return Look(owner, id);
  }
  asio::awaitable<Result<RunView>> Cancel(IsolationKey owner, RunId id) override {
    auto run = Look(owner, id);
    if (!run) co_return run;
    run->state = RunState::kFinished;
    run->outcome.status = RunStatus::kCancelled;
    state_.Lock()->runs.insert_or_assign({owner, id}, *run);
    co_return run;
  }
  asio::awaitable<Result<std::string>> File(IsolationKey owner, RunId id, std::uint32_t) override {
    if (auto run = Look(owner, id); !run) co_return run.error();
    co_return std::string("a,b\n\0\xff", 6);
  }
  asio::awaitable<Result<StoredApproval>> FindApproval(IsolationKey owner, ApprovalId id) override {
    co_return LookAtApproval(owner, id);
  }
  asio::awaitable<Result<Page<StoredApproval>>> ListApprovals(IsolationKey owner,
                                                              std::optional<ApprovalState> state,
                                                              PageQuery) override {
    Page<StoredApproval> page;
    auto locked = state_.Lock();
    for (auto& [key, approval] : locked->approvals) {
      if (key.first == owner && (!state || approval.state == *state))
        page.items.push_back(approval);
    }
    co_return page;
  }
  asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id,
                                                 Answer answer) override {
    auto approval = LookAtApproval(owner, id);
    if (!approval) co_return approval;
    if (approval->state != ApprovalState::kPending && approval->state != answer.verdict) {
      co_return Error(ErrorCode::kFailedPrecondition, "the approval has already been decided");
    }
    if (answer.standing && answer.standing->scope == StandingYes::Scope::kSession) {
      co_return Error(ErrorCode::kInvalidArgument, "the run is in no session");
    }
    approval->state = answer.verdict;
    approval->decision =
        Decision{.verdict = answer.verdict, .by = answer.by, .reason = answer.reason};
    auto locked = state_.Lock();
    locked->approvals.insert_or_assign({owner, id}, *approval);
    if (answer.standing) {
      const bool any = answer.standing->arguments == StandingYes::Arguments::kAny;
      const GrantId grant("grt_" + id.str());
      locked->grants.emplace(std::pair(owner, grant), Grant{.id = grant,
                                                            .tool = "send",
                                                            .pattern = any ? "any" : "these",
                                                            .scope = "always",
                                                            .granted_by = answer.by});
    }
    co_return approval;
  }
  asio::awaitable<Result<std::vector<Grant>>> Grants(IsolationKey owner) override {
    std::vector<Grant> grants;
    auto locked = state_.Lock();
    for (auto& [key, grant] : locked->grants) {
      if (key.first == owner) grants.push_back(grant);
    }
    co_return grants;
  }
  asio::awaitable<Result<void>> RevokeGrant(IsolationKey owner, GrantId id, std::string) override {
    const bool there = state_.Lock()->grants.erase({owner, id}) == 1;
    co_return there ? Result<void>() : Error(ErrorCode::kNotFound, "no " + id.str());
  }
  asio::awaitable<void> Close() override { co_return; }

 private:
  struct State {
    std::map<std::pair<IsolationKey, RunId>, RunView> runs;
    std::map<std::pair<IsolationKey, ApprovalId>, StoredApproval> approvals;
    std::map<std::pair<IsolationKey, GrantId>, Grant> grants;
    std::map<std::pair<IsolationKey, IdempotencyKey>, KeyedRun> keys;
  };

  // False: there is a run with this key. It belongs to the run that is created next.
  bool Take(const IsolationKey& owner, const RunKey& key) {
    auto locked = state_.Lock();
    const RunId next("run_" + std::to_string(100 + locked->runs.size()));
    return locked->keys.emplace(std::pair(owner, key.id), KeyedRun{next, key.fingerprint}).second;
  }

  RunView Create(const IsolationKey& owner, const std::string& code) {
    auto locked = state_.Lock();
    const RunId id("run_" + std::to_string(100 + locked->runs.size()));
    RunView run{.id = id, .code = code};
    run.outcome.run_id = id.str();
    locked->runs.emplace(std::pair(owner, id), run);
    return run;
  }
  static void Finish(RunView& run) {
    run.state = RunState::kFinished;
    run.outcome.status = RunStatus::kCompleted;
    run.outcome.reason = RunReason::kReturned;
    run.outcome.stdout_text = "hé";
    run.outcome.result = Value(std::int64_t{42});
    run.outcome.files = {{.path = "/output/d\u00e9 \"1\".csv", .change = "created", .size = 6},
                         {.path = "/output/big", .change = "created", .omitted = "too large"}};
  }
  void Park(const IsolationKey& owner, RunView& run) {
    const ApprovalId id("apr_" + run.id.str());
    const std::string text = run.code == "wait lots" ? std::string(100'000, 'a') : "";
    const auto arguments =
        *Canonicalize({.items = {{Value(std::string("to")), Value("ann\u202e" + text)}}});
    const CallBinding binding{.run = run.id, .tool = "send", .arguments_digest = arguments.digest};
    state_.Lock()->approvals.emplace(
        std::pair(owner, id),
        StoredApproval{.asked = {.id = id, .binding = binding, .arguments = arguments.text}});
    run.state = RunState::kWaiting;
    run.outcome.status = RunStatus::kWaiting;
    run.outcome.reason = RunReason::kApproval;
  }
  Result<RunView> Look(const IsolationKey& owner, const RunId& id) {
    auto locked = state_.Lock();
    const auto found = locked->runs.find({owner, id});
    if (found == locked->runs.end()) return Error(ErrorCode::kNotFound, "no run " + id.str());
    return found->second;
  }
  Result<StoredApproval> LookAtApproval(const IsolationKey& owner, const ApprovalId& id) {
    auto locked = state_.Lock();
    const auto found = locked->approvals.find({owner, id});
    if (found == locked->approvals.end()) return Error(ErrorCode::kNotFound, "no " + id.str());
    return found->second;
  }

  Guarded<State> state_;
};

}  // namespace caisson::rest
