// Two replicas and many concurrent operations: if only one may win, exactly one does.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/store/backend.h"

namespace caisson {
namespace {

class RaceTest : public StoreTest {
 protected:
  static constexpr int kRacers = 8;

  // Returns how many of the racers, half of them on each replica, succeeded.
  int Winners(auto attempt) {
    std::atomic<int> ready = 0;
    std::atomic<int> winners = 0;
    {
      std::vector<std::jthread> racers;
      for (int i = 0; i < kRacers; ++i) {
        racers.emplace_back([&, i] {
          Store& store = i % 2 == 0 ? *store_ : *replica_;
          ++ready;
          while (ready < kRacers) std::this_thread::yield();
          if (attempt(store, i)) ++winners;
        });
      }
    }
    return winners;
  }

  const std::shared_ptr<Store> replica_ = backend_->Open();
};

TEST_P(RaceTest, OneClaimsARun) {
  ASSERT_TRUE(Now(store_->runs().Release(ann_, RunId("r"), StartRun("r"))));
  for (int round = 0; round < 10; ++round) {
    std::atomic<std::int64_t> fence = 0;
    EXPECT_EQ(
        Winners([&](Store& store, int i) {
          const auto lease = Now(store.runs().Claim(
              ann_, RunId("r"),
              Term(("replica" + std::to_string(i)).c_str(), After(std::chrono::minutes(round)))));
          if (lease) fence = lease->fence;
          return lease.has_value();
        }),
        1);
    EXPECT_EQ(fence, round + 2);
  }
}

TEST_P(RaceTest, OneVerdictStands) {
  for (int round = 0; round < 10; ++round) {
    const ApprovalId id("a" + std::to_string(round));
    ASSERT_TRUE(Now(store_->approvals().Create(
        ann_,
        {.id = id,
         .binding = {.run = RunId("r"), .seq = static_cast<std::uint32_t>(round)},
         .created_at = kNow,
         .expires_at = After(std::chrono::hours(1))},
        1000)));
    // The even ones approve, the odd ones deny: one half sees its verdict stored, or already there.
    EXPECT_EQ(
        Winners([&](Store& store, int i) {
          return Now(store.approvals().Decide(ann_, id,
                                              {.verdict = i < kRacers / 2 ? ApprovalState::kApproved
                                                                          : ApprovalState::kDenied,
                                               .by = "bea",
                                               .at = kNow}))
              .has_value();
        }),
        kRacers / 2);
  }
  const auto entries = *Now(store_->audit().Read(ann_, 0, 1000));
  EXPECT_EQ(entries.size(), 10U);  // Each decision once.
  EXPECT_TRUE(VerifyChain(entries));
}

TEST_P(RaceTest, OneStartsAnApprovedCall) {
  const Lease lease = StartRun("r");
  ASSERT_TRUE(Now(store_->runs().BeginCall(
      ann_, RunId("r"), lease, {.seq = 0, .tool = "t", .state = CallState::kPending}, kNow)));
  ASSERT_TRUE(Now(store_->approvals().Create(
      ann_,
      {.id = ApprovalId("a"),
       .binding = {.run = RunId("r"), .seq = 0, .tool = "t", .code_digest = "code"},
       .created_at = kNow,
       .expires_at = After(std::chrono::hours(1))},
      10)));
  ASSERT_TRUE(Now(store_->approvals().Decide(
      ann_, ApprovalId("a"), {.verdict = ApprovalState::kApproved, .by = "bea", .at = kNow})));
  EXPECT_EQ(Winners([&](Store& store, int) {
              return Now(store.runs().StartCall(ann_, RunId("r"), lease, 0, ApprovalId("a"), kNow))
                  .has_value();
            }),
            1);
}

TEST_P(RaceTest, OneMovesTheHead) {
  std::optional<CheckpointId> head;
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> winner = -1;
    const auto id = [&](int i) {
      return CheckpointId(std::to_string(round) + "." + std::to_string(i));
    };
    EXPECT_EQ(Winners([&](Store& store, int i) {
                const bool won =
                    Now(store.checkpoints().Append(ann_, InstanceId("w"), head, {id(i), "", kNow}))
                        .has_value();
                if (won) winner = i;
                return won;
              }),
              1);
    head = id(winner);
  }
}

TEST_P(RaceTest, OneStartsTheRunOfAKey) {
  for (int round = 0; round < 10; ++round) {
    const RunKey key{.id = IdempotencyKey(std::to_string(round)),
                     .fingerprint = "f",
                     .expires_at = After(std::chrono::hours(1))};
    EXPECT_EQ(Winners([&](Store& store, int i) {
                const RunId id(std::to_string(round) + "." + std::to_string(i));
                return Now(store.runs().Create(ann_, {.id = id, .key = key},
                                               {.holder = "x", .now = kNow, .until = kNow}))
                    .has_value();
              }),
              1);
  }
  EXPECT_EQ(Now(store_->runs().List(ann_, {}, {}))->items.size(), 10u);
}

TEST_P(RaceTest, TheAuditChainHoldsUnderConcurrentAppends) {
  EXPECT_EQ(Winners([&](Store& store, int) {
              bool all = true;
              for (int n = 0; n < 20; ++n) {
                all &= Now(store.audit().Append(ann_, {kNow, "kind", "{}"})).has_value();
              }
              return all;
            }),
            kRacers);
  const auto entries = *Now(store_->audit().Read(ann_, 0, 1000));
  EXPECT_EQ(entries.size(), 20U * kRacers);
  EXPECT_TRUE(VerifyChain(entries));
}

INSTANTIATE_OVER_BACKENDS(RaceTest);

}  // namespace
}  // namespace caisson
