#include <gmock/gmock.h>

#include "tests/store/backend.h"

namespace caisson {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class SweepTest : public StoreTest {
 protected:
  static constexpr Retention kDay{.finished_runs = std::chrono::hours(24),
                                  .responses = std::chrono::hours(24),
                                  .documents = std::chrono::hours(24),
                                  .checkpoints = std::chrono::hours(24)};
  void AskFor(const char* run, const char* approval) {
    EXPECT_TRUE(Now(store_->approvals().Create(ann_,
                                               {.id = ApprovalId(approval),
                                                .binding = {.run = RunId(run), .seq = 0},
                                                .created_at = kNow,
                                                .expires_at = After(std::chrono::hours(1000))},
                                               10)));
  }
  Lease RunWithPendingCall(const char* id) {
    const Lease lease = StartRun(id);
    EXPECT_TRUE(Now(store_->runs().BeginCall(ann_, RunId(id), lease,
                                             {.seq = 0, .state = CallState::kPending}, kNow)));
    AskFor(id, id);
    EXPECT_TRUE(Now(store_->runs().Wait(ann_, RunId(id), lease, SavedRun{0, "b", "x"}, kNow)));
    return lease;
  }
  std::vector<std::string> Resumable(SystemTime now) {
    std::vector<std::string> ids;
    for (const OwnedRun& run : *Now(store_->maintenance().ResumableRuns(now, 100))) {
      EXPECT_EQ(run.owner, ann_);
      ids.push_back(run.run.str());
    }
    return ids;
  }
};

TEST_P(SweepTest, OldThingsGo) {
  const Lease lease = StartRun("old");
  ASSERT_TRUE(Now(store_->runs().BeginCall(ann_, RunId("old"), lease, {.seq = 0}, kNow)));
  ASSERT_TRUE(Now(store_->runs().Finish(ann_, RunId("old"), lease, Ended("{}", {"file"}), kNow)));
  ASSERT_TRUE(Now(store_->responses().Create(ann_, {.id = ResponseId("r"), .created_at = kNow})));
  ASSERT_TRUE(Now(store_->responses().CreateConversation(
      ann_, {.id = ConversationId("c"), .created_at = kNow})));
  ASSERT_TRUE(Now(store_->snapshots().Save(ann_, DocumentId("d"), 0, "", kNow)));
  ASSERT_TRUE(
      Now(store_->checkpoints().Append(ann_, InstanceId("w"), {}, {CheckpointId("1"), "", kNow})));
  const RunKey key{.id = IdempotencyKey("k"), .expires_at = After(std::chrono::hours(1))};
  ASSERT_TRUE(Now(store_->runs().Create(ann_, {.id = RunId("keyed"), .key = key},
                                        {.holder = "x", .now = kNow, .until = kNow})));

  auto report = *Now(store_->maintenance().Sweep(kDay, After(std::chrono::minutes(59))));
  EXPECT_EQ(report.runs + report.responses + report.documents + report.checkpoints +
                report.idempotency_keys,
            0);
  report = *Now(store_->maintenance().Sweep(kDay, After(std::chrono::hours(25))));
  EXPECT_EQ(report.runs, 1);
  EXPECT_EQ(report.responses, 2);
  EXPECT_EQ(report.documents, 1);
  EXPECT_EQ(report.checkpoints, 1);
  EXPECT_EQ(report.idempotency_keys, 1);
  EXPECT_FALSE(Now(store_->runs().Find(ann_, RunId("old"))));
  EXPECT_THAT(*Now(store_->runs().Calls(ann_, RunId("old"))), IsEmpty());
  EXPECT_FALSE(Now(store_->runs().LoadFile(ann_, RunId("old"), 0)));
  EXPECT_FALSE(Now(store_->checkpoints().Head(ann_, InstanceId("w"))));
}

TEST_P(SweepTest, WaitingRunsAndTheirApprovalsStay) {
  RunWithPendingCall("waiting");
  StartRun("running");
  const auto century = After(std::chrono::hours(24 * 36'500));
  EXPECT_EQ(Now(store_->maintenance().Sweep(kDay, century))->runs, 0);
  EXPECT_EQ(Now(store_->runs().Find(ann_, RunId("waiting")))->state, RunState::kWaiting);
  EXPECT_TRUE(Now(store_->runs().LoadSaved(ann_, RunId("waiting"))));
  EXPECT_THAT(*Now(store_->runs().Calls(ann_, RunId("waiting"))), SizeIs(1));
  EXPECT_EQ(Now(store_->approvals().Find(ann_, ApprovalId("waiting")))->state,
            ApprovalState::kPending);
  EXPECT_TRUE(Now(store_->runs().Find(ann_, RunId("running"))));
}

TEST_P(SweepTest, APendingApprovalKeepsItsRun) {
  const Lease lease = StartRun("r");
  ASSERT_TRUE(Now(store_->runs().Finish(ann_, RunId("r"), lease, Ended("{}"), kNow)));
  AskFor("r", "late");  // A request of a run that is over.
  EXPECT_EQ(Now(store_->maintenance().Sweep(kDay, After(std::chrono::hours(25))))->runs, 0);
  EXPECT_TRUE(Now(store_->approvals().Find(ann_, ApprovalId("late"))));
  ASSERT_TRUE(Now(store_->maintenance().ExpireApprovals(After(std::chrono::hours(1001)), 10)));
  EXPECT_EQ(Now(store_->maintenance().Sweep(kDay, After(std::chrono::hours(1001))))->runs, 1);
  EXPECT_FALSE(Now(store_->approvals().Find(ann_, ApprovalId("late"))));
}

TEST_P(SweepTest, TheAuditLogStays) {
  ASSERT_TRUE(Now(store_->audit().Append(ann_, {kNow, "kind", "{}"})));
  ASSERT_TRUE(Now(store_->maintenance().Sweep(kDay, After(std::chrono::hours(24 * 365)))));
  EXPECT_THAT(*Now(store_->audit().Read(ann_, 0, 10)), SizeIs(1));
}

TEST_P(SweepTest, RunsOfADeadReplicaCanGoOn) {
  StartRun("r");
  EXPECT_THAT(Resumable(After(std::chrono::seconds(29))), IsEmpty());
  EXPECT_THAT(Resumable(After(std::chrono::seconds(30))), testing::ElementsAre("r"));
  const auto lease =
      Now(store_->runs().Claim(ann_, RunId("r"), Term("next", After(std::chrono::seconds(30)))));
  EXPECT_THAT(Resumable(After(std::chrono::seconds(31))), IsEmpty());
  ASSERT_TRUE(Now(store_->runs().Finish(ann_, RunId("r"), *lease, Ended(""), kNow)));
  EXPECT_THAT(Resumable(After(std::chrono::hours(1))), IsEmpty());
}

TEST_P(SweepTest, AWaitingRunCanGoOnOnceSomebodyHasDecided) {
  const Lease lease = RunWithPendingCall("r");
  ASSERT_TRUE(Now(store_->runs().Release(ann_, RunId("r"), lease)));
  EXPECT_THAT(Resumable(kNow), IsEmpty());
  ASSERT_TRUE(Now(store_->approvals().Decide(
      ann_, ApprovalId("r"), {.verdict = ApprovalState::kDenied, .by = "bea", .at = kNow})));
  EXPECT_THAT(Resumable(kNow), testing::ElementsAre("r"));
  // Once the code has been told, it waits for the next event.
  const Lease next = *Now(store_->runs().Claim(ann_, RunId("r"), Term("next")));
  ASSERT_TRUE(
      Now(store_->runs().FinishCall(ann_, RunId("r"), next, 0, CallState::kDenied, "", kNow)));
  ASSERT_TRUE(Now(store_->runs().Wait(ann_, RunId("r"), next, {}, kNow)));
  ASSERT_TRUE(Now(store_->runs().Release(ann_, RunId("r"), next)));
  EXPECT_THAT(Resumable(kNow), IsEmpty());
}

TEST_P(SweepTest, ARunWithASetbackIsShownWhenItsTimeHasCome) {
  const RunId id("r");
  const auto retry_at = After(std::chrono::seconds(90));
  const auto soon = After(std::chrono::seconds(89));
  ASSERT_TRUE(Now(store_->runs().Postpone(ann_, id, StartRun("r"), {.retry_at = retry_at})));
  EXPECT_THAT(Resumable(soon), IsEmpty());
  EXPECT_THAT(Resumable(retry_at), testing::ElementsAre("r"));
  // The same for one that waits and has a decision.
  const Lease lease = RunWithPendingCall("waiting");
  ASSERT_TRUE(Now(store_->approvals().Decide(
      ann_, ApprovalId("waiting"), {.verdict = ApprovalState::kDenied, .by = "bea", .at = kNow})));
  ASSERT_TRUE(Now(store_->runs().Postpone(ann_, RunId("waiting"), lease, {.retry_at = retry_at})));
  EXPECT_THAT(Resumable(soon), IsEmpty());
  EXPECT_THAT(Resumable(retry_at), testing::UnorderedElementsAre("r", "waiting"));
  // A cancellation need not wait.
  ASSERT_TRUE(Now(store_->runs().AskToCancel(ann_, id, kNow)));
  EXPECT_THAT(Resumable(soon), testing::ElementsAre("r"));
}

TEST_P(SweepTest, ARunThatSleepsIsShownWhenItsTimeHasCome) {
  const SystemTime wake = After(std::chrono::hours(1));
  const SystemTime before = After(std::chrono::minutes(59));
  // With a pending request, and without one.
  const Lease asks = RunWithPendingCall("asks");
  SavedRun saved{.seq = 1, .build = "b", .sealed = "x", .wake_at = wake};
  ASSERT_TRUE(Now(store_->runs().Wait(ann_, RunId("asks"), asks, saved, kNow)));
  ASSERT_TRUE(Now(store_->runs().Release(ann_, RunId("asks"), asks)));
  EXPECT_EQ(Now(store_->runs().LoadSaved(ann_, RunId("asks")))->wake_at, wake);
  const Lease sleeps = StartRun("sleeps");
  saved.waits_for_somebody = false;
  ASSERT_TRUE(Now(store_->runs().Wait(ann_, RunId("sleeps"), sleeps, saved, kNow)));
  EXPECT_EQ(Now(store_->runs().Find(ann_, RunId("sleeps")))->state, RunState::kRunning);
  ASSERT_TRUE(Now(store_->runs().Postpone(ann_, RunId("sleeps"), sleeps, {.retry_at = wake})));
  EXPECT_THAT(Resumable(before), IsEmpty());
  EXPECT_THAT(Resumable(wake), testing::UnorderedElementsAre("asks", "sleeps"));
}

TEST_P(SweepTest, WaitingRunsAreCountedOverAllOwners) {
  RunWithPendingCall("r");
  const Lease lease = *Now(store_->runs().Create(bob_, {.id = RunId("r")}, Term("here")));
  ASSERT_TRUE(Now(store_->runs().Wait(bob_, RunId("r"), lease, SavedRun{0, "b", "four"}, kNow)));
  StartRun("under way");
  const RunUsage usage = *Now(store_->maintenance().Usage());
  EXPECT_EQ(usage.waiting_runs, 2U);
  EXPECT_EQ(usage.saved_bytes, 5U);
}

TEST_P(SweepTest, ARunThatIsToBeCancelledIsShownToItsHolderAndThenToAnybody) {
  const auto unwanted = [&](const std::string& holder) {
    return Now(store_->maintenance().RunsToCancel(holder, 10))->size();
  };
  const Lease lease = StartRun("r");
  EXPECT_EQ(Now(store_->runs().AskToCancel(ann_, RunId("none"), kNow)).error().code(),
            ErrorCode::kNotFound);
  EXPECT_EQ(unwanted(lease.holder), 0u);
  ASSERT_TRUE(Now(store_->runs().AskToCancel(ann_, RunId("r"), kNow)));
  ASSERT_TRUE(Now(store_->runs().AskToCancel(ann_, RunId("r"), kNow)));  // Again: nothing new.
  EXPECT_TRUE(Now(store_->runs().Find(ann_, RunId("r")))->cancel_asked);
  EXPECT_EQ(unwanted(lease.holder), 1u);
  EXPECT_EQ(unwanted("another"), 0u);
  ASSERT_TRUE(Now(store_->runs().Wait(ann_, RunId("r"), lease, SavedRun{1, "b", "x"}, kNow)));
  EXPECT_THAT(Resumable(kNow), IsEmpty());
  EXPECT_THAT(Resumable(After(std::chrono::seconds(30))), testing::ElementsAre("r"));
  ASSERT_TRUE(Now(store_->runs().Finish(ann_, RunId("r"), lease, Ended(""), kNow)));
  EXPECT_EQ(unwanted(lease.holder), 0u);
  EXPECT_THAT(Resumable(After(std::chrono::hours(1))), IsEmpty());
}

TEST_P(SweepTest, AWaitingRunThatIsNowhereSavedIsShownOnceItsHolderIsGone) {
  const Lease saved = StartRun("saved");
  ASSERT_TRUE(Now(store_->runs().Wait(ann_, RunId("saved"), saved, SavedRun{1, "b", "x"}, kNow)));
  const Lease lease = StartRun("r");
  ASSERT_TRUE(Now(store_->runs().Wait(ann_, RunId("r"), lease, SavedRun{1, "", ""}, kNow)));
  EXPECT_THAT(Resumable(kNow), IsEmpty());
  EXPECT_THAT(Resumable(After(std::chrono::minutes(1))), testing::ElementsAre("r"));
}

INSTANTIATE_OVER_BACKENDS(SweepTest);

}  // namespace
}  // namespace caisson
