#include "tests/durable/killing_store.h"

#include <string>
#include <utility>

#include "tests/durable/windows.h"

namespace caisson::testing {
namespace {

template <typename T>
asio::awaitable<T> Around(std::string name, asio::awaitable<T> work) {
  PassStep(name + ":before");
  auto result = co_await std::move(work);
  PassStep(name + ":after");
  co_return result;
}

class KillingRuns final : public RunStore {
 public:
  explicit KillingRuns(RunStore& runs) : runs_(runs) {}

  asio::awaitable<Result<Lease>> Create(IsolationKey owner, NewRun run, LeaseTerm term) override {
    return Around("Create", runs_.Create(std::move(owner), std::move(run), std::move(term)));
  }
  asio::awaitable<Result<StoredRun>> Find(IsolationKey owner, RunId id) override {
    return runs_.Find(std::move(owner), std::move(id));
  }
  asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey owner, IdempotencyKey key,
                                              SystemTime now) override {
    return runs_.FindByKey(std::move(owner), std::move(key), now);
  }
  asio::awaitable<Result<void>> ForgetKey(IsolationKey owner, IdempotencyKey key,
                                          RunId run) override {
    return runs_.ForgetKey(std::move(owner), std::move(key), std::move(run));
  }
  asio::awaitable<Result<Page<ListedRun>>> List(IsolationKey owner, std::optional<RunState> state,
                                                PageQuery query) override {
    return runs_.List(std::move(owner), state, std::move(query));
  }
  asio::awaitable<Result<Lease>> Claim(IsolationKey owner, RunId id, LeaseTerm term) override {
    return Around("Claim", runs_.Claim(std::move(owner), std::move(id), std::move(term)));
  }
  asio::awaitable<Result<void>> Release(IsolationKey owner, RunId id, Lease lease) override {
    return runs_.Release(std::move(owner), std::move(id), std::move(lease));
  }
  asio::awaitable<Result<void>> Postpone(IsolationKey owner, RunId id, Lease lease,
                                         Setback setback) override {
    return runs_.Postpone(std::move(owner), std::move(id), std::move(lease), setback);
  }
  asio::awaitable<Result<void>> AskToCancel(IsolationKey owner, RunId id, SystemTime now) override {
    return runs_.AskToCancel(std::move(owner), std::move(id), now);
  }
  asio::awaitable<Result<void>> Wait(IsolationKey owner, RunId id, Lease lease,
                                     std::optional<SavedRun> saved, SystemTime now) override {
    return Around("Wait", runs_.Wait(std::move(owner), std::move(id), std::move(lease),
                                     std::move(saved), now));
  }
  asio::awaitable<Result<void>> Resume(IsolationKey owner, RunId id, Lease lease,
                                       SystemTime now) override {
    return runs_.Resume(std::move(owner), std::move(id), std::move(lease), now);
  }
  asio::awaitable<Result<SavedRun>> LoadSaved(IsolationKey owner, RunId id) override {
    return Around("LoadSaved", runs_.LoadSaved(std::move(owner), std::move(id)));
  }
  asio::awaitable<Result<void>> Finish(IsolationKey owner, RunId id, Lease lease,
                                       std::shared_ptr<const RunEnd> end, SystemTime now) override {
    return Around("Finish", runs_.Finish(std::move(owner), std::move(id), std::move(lease),
                                         std::move(end), now));
  }
  asio::awaitable<Result<std::string>> LoadFile(IsolationKey owner, RunId id,
                                                std::uint32_t number) override {
    return runs_.LoadFile(std::move(owner), std::move(id), number);
  }
  asio::awaitable<Result<RunUsage>> Usage(IsolationKey owner) override {
    return runs_.Usage(std::move(owner));
  }
  asio::awaitable<Result<std::uint64_t>> StoredBytes(IsolationKey owner) override {
    return runs_.StoredBytes(std::move(owner));
  }
  asio::awaitable<Result<void>> BeginCall(IsolationKey owner, RunId id, Lease lease, NewCall call,
                                          SystemTime now) override {
    return Around("BeginCall", runs_.BeginCall(std::move(owner), std::move(id), std::move(lease),
                                               std::move(call), now));
  }
  asio::awaitable<Result<void>> StartCall(IsolationKey owner, RunId id, Lease lease,
                                          std::uint32_t seq, std::optional<ApprovalUse> approval,
                                          SystemTime now) override {
    return Around("StartCall", runs_.StartCall(std::move(owner), std::move(id), std::move(lease),
                                               seq, std::move(approval), now));
  }
  asio::awaitable<Result<void>> RetryCall(IsolationKey owner, RunId id, Lease lease,
                                          std::uint32_t seq, SystemTime now) override {
    return runs_.RetryCall(std::move(owner), std::move(id), std::move(lease), seq, now);
  }
  asio::awaitable<Result<void>> FinishCall(IsolationKey owner, RunId id, Lease lease,
                                           std::uint32_t seq, CallState end, std::string result,
                                           SystemTime now) override {
    return Around("FinishCall", runs_.FinishCall(std::move(owner), std::move(id), std::move(lease),
                                                 seq, end, std::move(result), now));
  }
  asio::awaitable<Result<std::uint32_t>> DoubtStartedCalls(IsolationKey owner, RunId id,
                                                           Lease lease, SystemTime now) override {
    return Around("DoubtStartedCalls",
                  runs_.DoubtStartedCalls(std::move(owner), std::move(id), std::move(lease), now));
  }
  asio::awaitable<Result<std::vector<StoredCall>>> Calls(IsolationKey owner, RunId id) override {
    return runs_.Calls(std::move(owner), std::move(id));
  }

 private:
  RunStore& runs_;
};

class KillingTurns final : public TurnStore {
 public:
  explicit KillingTurns(TurnStore& turns) : turns_(turns) {}

  asio::awaitable<Result<Lease>> Begin(IsolationKey owner, StoredResponse response,
                                       LeaseTerm term) override {
    return Around("turn.Begin",
                  turns_.Begin(std::move(owner), std::move(response), std::move(term)));
  }
  asio::awaitable<Result<ClaimedTurn>> Claim(IsolationKey owner, ResponseId id,
                                             LeaseTerm term) override {
    return Around("turn.Claim", turns_.Claim(std::move(owner), std::move(id), std::move(term)));
  }
  asio::awaitable<Result<void>> Release(IsolationKey owner, ResponseId id, Lease lease) override {
    return turns_.Release(std::move(owner), std::move(id), std::move(lease));
  }
  asio::awaitable<Result<void>> Replace(IsolationKey owner, ResponseId id, Lease lease,
                                        std::string body, SystemTime now) override {
    return Around("turn.Replace", turns_.Replace(std::move(owner), std::move(id), std::move(lease),
                                                 std::move(body), now));
  }
  asio::awaitable<Result<void>> Append(IsolationKey owner, ResponseId id, Lease lease,
                                       NewEvents events) override {
    return Around("turn.Append", turns_.Append(std::move(owner), std::move(id), std::move(lease),
                                               std::move(events)));
  }
  asio::awaitable<Result<void>> End(IsolationKey owner, ResponseId id, Lease lease,
                                    std::string body, NewEvents events, SystemTime now) override {
    return Around("turn.End", turns_.End(std::move(owner), std::move(id), std::move(lease),
                                         std::move(body), std::move(events), now));
  }
  asio::awaitable<Result<void>> AskToCancel(IsolationKey owner, ResponseId id,
                                            SystemTime now) override {
    return turns_.AskToCancel(std::move(owner), std::move(id), now);
  }
  asio::awaitable<Result<std::vector<std::string>>> Events(IsolationKey owner, ResponseId id,
                                                           std::uint64_t from,
                                                           std::uint32_t limit) override {
    return turns_.Events(std::move(owner), std::move(id), from, limit);
  }
  asio::awaitable<Result<void>> EnterConversation(IsolationKey owner, ConversationId id,
                                                  ResponseId turn, LeaseTerm term) override {
    return turns_.EnterConversation(std::move(owner), std::move(id), std::move(turn),
                                    std::move(term));
  }
  asio::awaitable<Result<void>> LeaveConversation(IsolationKey owner, ConversationId id,
                                                  ResponseId turn) override {
    return turns_.LeaveConversation(std::move(owner), std::move(id), std::move(turn));
  }

 private:
  TurnStore& turns_;
};

class KillingStore final : public Store {
 public:
  explicit KillingStore(std::unique_ptr<Store> store)
      : store_(std::move(store)), runs_(store_->runs()), turns_(store_->turns()) {}

  RunStore& runs() override { return runs_; }
  ApprovalStore& approvals() override { return store_->approvals(); }
  AuditLog& audit() override { return store_->audit(); }
  CheckpointStore& checkpoints() override { return store_->checkpoints(); }
  ResponseStore& responses() override { return store_->responses(); }
  TurnStore& turns() override { return turns_; }
  DocumentStore& sessions() override { return store_->sessions(); }
  DocumentStore& snapshots() override { return store_->snapshots(); }
  StoreMaintenance& maintenance() override { return store_->maintenance(); }
  StoreHealth& health() override { return store_->health(); }

 private:
  const std::unique_ptr<Store> store_;
  KillingRuns runs_;
  KillingTurns turns_;
};

}  // namespace

std::unique_ptr<Store> MakeKillingStore(std::unique_ptr<Store> store) {
  return std::make_unique<KillingStore>(std::move(store));
}

}  // namespace caisson::testing
