#include <gmock/gmock.h>

#include <boost/asio/this_coro.hpp>

#include "base/spawn.h"
#include "store/ended_runs.h"
#include "tests/store/backend.h"

namespace caisson {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class RunStoreTest : public StoreTest {
 protected:
  RunStore& runs() { return store_->runs(); }
  Result<void> Begin(const Lease& lease, std::uint32_t seq, CallState state) {
    return Now(runs().BeginCall(ann_, RunId("r"), lease,
                                {.seq = seq,
                                 .tool = "send",
                                 .tool_digest = "tool",
                                 .arguments = R"({"to":"x"})",
                                 .arguments_digest = "arguments",
                                 .idempotency_key = "key",
                                 .state = state},
                                kNow));
  }
  CallState StateOf(std::uint32_t seq) {
    return Now(runs().Calls(ann_, RunId("r")))->at(seq).call.state;
  }
};

TEST_P(RunStoreTest, ARunComesBackAsItWas) {
  const std::string bytes("\0\xff\n'\"", 5);
  const auto lease = Now(runs().Create(
      ann_, {.id = RunId("r"), .code_digest = "code", .request = bytes}, Term("replica")));
  EXPECT_EQ(lease->fence, 1);
  const auto run = Now(runs().Find(ann_, RunId("r")));
  ASSERT_TRUE(run) << Why(run);
  EXPECT_EQ(run->state, RunState::kRunning);
  EXPECT_EQ(run->request, bytes);
  EXPECT_EQ(run->code_digest, "code");
  EXPECT_EQ(run->created_at, kNow);
  EXPECT_EQ(run->outcome, "");
}

TEST_P(RunStoreTest, TheBytesOfAnOwnersRunsAreCountedOnceEach) {
  EXPECT_EQ(*Now(runs().StoredBytes(ann_)), 0u);
  const auto lease = Now(runs().Create(
      ann_, {.id = RunId("r"), .code_digest = "code", .request = "12345"}, Term("replica")));
  ASSERT_TRUE(lease);
  EXPECT_EQ(*Now(runs().StoredBytes(ann_)), 5u);
  ASSERT_TRUE(Begin(*lease, 0, CallState::kPending));  // 10 bytes of arguments.
  const NewApproval asked{.id = ApprovalId("p"),
                          .binding = {.run = RunId("r"),
                                      .tool = "send",
                                      .tool_digest = "tool",
                                      .arguments_digest = "arguments",
                                      .code_digest = "code"},
                          .arguments = R"({"to":"x"})",
                          .created_at = kNow,
                          .expires_at = After(std::chrono::hours(1))};
  ASSERT_TRUE(Now(store_->approvals().Create(ann_, asked, 10)));
  ASSERT_TRUE(Now(runs().Wait(ann_, RunId("r"), *lease, {}, kNow)));
  EXPECT_EQ(*Now(runs().StoredBytes(ann_)), 15u);  // The approval has no copy of the arguments,
  EXPECT_EQ(Now(store_->approvals().Find(ann_, ApprovalId("p")))->asked.arguments,
            R"({"to":"x"})");  // and shows them.
  ASSERT_TRUE(
      Now(runs().FinishCall(ann_, RunId("r"), *lease, 0, CallState::kRaised, "1234567", kNow)));
  ASSERT_TRUE(Now(runs().Finish(ann_, RunId("r"), *lease, Ended("outcome", {"abc", "d"}), kNow)));
  EXPECT_EQ(*Now(runs().StoredBytes(ann_)), 15u + 7 + 7 + 4);
  EXPECT_EQ(*Now(runs().StoredBytes(bob_)), 0u);
}

TEST_P(RunStoreTest, AnIdIsTakenOncePerOwner) {
  StartRun("r");
  EXPECT_EQ(Now(runs().Create(ann_, {.id = RunId("r")}, Term("x"))).error().code(),
            ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(Now(runs().Create(bob_, {.id = RunId("r")}, Term("x"))));
}

// I3, I4: to Bob, Ann's run and a run that never existed look the same, in every operation.
TEST_P(RunStoreTest, AnothersRunIsLikeNone) {
  const Lease lease = StartRun("r");
  ASSERT_TRUE(Begin(lease, 0, CallState::kPending));
  ASSERT_TRUE(Now(runs().Wait(ann_, RunId("r"), lease, SavedRun{0, "b", "sealed"}, kNow)));
  const auto same = [&](auto operation) {
    const auto foreign = operation(RunId("r"));
    const auto absent = operation(RunId("never"));
    EXPECT_EQ(Why(foreign), Why(absent));
    return !foreign.has_value();
  };
  EXPECT_TRUE(same([&](RunId id) { return Now(runs().Find(bob_, id)); }));
  EXPECT_TRUE(same([&](RunId id) {
    return Now(runs().Claim(bob_, id, Term("x", After(std::chrono::hours(1)))));
  }));
  EXPECT_TRUE(same([&](RunId id) { return Now(runs().LoadSaved(bob_, id)); }));
  EXPECT_TRUE(same([&](RunId id) { return Now(runs().LoadFile(bob_, id, 0)); }));
  EXPECT_TRUE(same([&](RunId id) { return Now(runs().Finish(bob_, id, lease, Ended(""), kNow)); }));
  EXPECT_TRUE(same([&](RunId id) { return Now(runs().Wait(bob_, id, lease, {}, kNow)); }));
  EXPECT_EQ(Now(store_->maintenance().Renew({{bob_, RunId("r"), lease}}, kNow))->size(), 1u);
  EXPECT_TRUE(same([&](RunId id) { return Now(runs().Release(bob_, id, lease)); }));
  EXPECT_TRUE(same([&](RunId id) { return Now(runs().StartCall(bob_, id, lease, 0, {}, kNow)); }));
  EXPECT_THAT(*Now(runs().Calls(bob_, RunId("r"))), IsEmpty());
  EXPECT_THAT(Now(runs().List(bob_, {}, {}))->items, IsEmpty());
  EXPECT_EQ(Now(runs().Usage(bob_))->waiting_runs, 0U);
  EXPECT_EQ(StateOf(0), CallState::kPending);
}

TEST_P(RunStoreTest, ListsComeInPagesNewestFirst) {
  for (const char* id : {"a", "b", "c", "B"}) StartRun(id);
  std::string seen;
  PageQuery query{.limit = 3};
  for (int pages = 0; pages < 2; ++pages) {
    const auto page = Now(runs().List(ann_, RunState::kRunning, query));
    ASSERT_TRUE(page) << Why(page);
    for (const ListedRun& run : page->items) seen += run.id.str();
    query.after = page->next;
  }
  EXPECT_EQ(seen, "cbaB");  // By bytes: capitals before the others, whatever the server's locale.
  EXPECT_EQ(query.after, std::nullopt);
  EXPECT_THAT(Now(runs().List(ann_, RunState::kFinished, {}))->items, IsEmpty());
}

TEST_P(RunStoreTest, AListShowsSummariesAndWhatIsSaved) {
  const Lease done = StartRun("done");
  const auto end = std::make_shared<const RunEnd>(
      RunEnd{.outcome = std::string(1'000'000, 'o'), .summary = "in short"});
  ASSERT_TRUE(Now(runs().Finish(ann_, RunId("done"), done, end, After(std::chrono::seconds(1)))));
  const Lease asleep = StartRun("asleep");
  const SavedRun saved{
      .build = "build", .sealed = "sealed", .wake_at = After(std::chrono::hours(1))};
  ASSERT_TRUE(Now(runs().Wait(ann_, RunId("asleep"), asleep, saved, kNow)));
  const auto page = Now(runs().List(ann_, {}, {}));
  ASSERT_TRUE(page) << Why(page);
  ASSERT_THAT(page->items, SizeIs(2));
  EXPECT_EQ(page->items[0].id.str(), "done");
  EXPECT_EQ(page->items[0].state, RunState::kFinished);
  EXPECT_EQ(page->items[0].summary, "in short");
  EXPECT_EQ(page->items[0].created_at, kNow);
  EXPECT_EQ(page->items[0].updated_at, After(std::chrono::seconds(1)));
  EXPECT_EQ(page->items[0].saved_bytes, 0u);
  EXPECT_EQ(page->items[0].wake_at, std::nullopt);
  EXPECT_EQ(page->items[1].state, RunState::kWaiting);
  EXPECT_EQ(page->items[1].summary, "");
  EXPECT_EQ(page->items[1].saved_bytes, 6u);
  EXPECT_EQ(page->items[1].saved_build, "build");
  EXPECT_EQ(page->items[1].wake_at, After(std::chrono::hours(1)));
  EXPECT_EQ(Now(runs().Find(ann_, RunId("done")))->outcome.size(), 1'000'000u);
}

TEST_P(RunStoreTest, ALeaseHoldsUntilItIsOver) {
  const Lease first = StartRun("r");
  EXPECT_EQ(Now(runs().Claim(ann_, RunId("r"), Term("other", After(std::chrono::seconds(29)))))
                .error()
                .code(),
            ErrorCode::kFailedPrecondition);
  EXPECT_THAT(*Now(store_->maintenance().Renew({{ann_, RunId("r"), first}},
                                               After(std::chrono::seconds(60)))),
              IsEmpty());
  EXPECT_FALSE(Now(runs().Claim(ann_, RunId("r"), Term("other", After(std::chrono::seconds(59))))));
  const auto second =
      Now(runs().Claim(ann_, RunId("r"), Term("other", After(std::chrono::seconds(60)))));
  ASSERT_TRUE(second) << Why(second);
  EXPECT_EQ(second->fence, 2);
}

TEST_P(RunStoreTest, AReplicaThatLostItsLeaseChangesNothing) {
  const Lease old = StartRun("r");
  ASSERT_TRUE(Begin(old, 0, CallState::kStarted));
  ASSERT_TRUE(Now(runs().Claim(ann_, RunId("r"), Term("other", After(std::chrono::minutes(1))))));
  EXPECT_FALSE(Begin(old, 1, CallState::kStarted));
  EXPECT_FALSE(Now(runs().FinishCall(ann_, RunId("r"), old, 0, CallState::kReturned, "", kNow)));
  EXPECT_FALSE(Now(runs().Wait(ann_, RunId("r"), old, {}, kNow)));
  EXPECT_FALSE(Now(runs().Resume(ann_, RunId("r"), old, kNow)));
  EXPECT_THAT(
      *Now(store_->maintenance().Renew({{ann_, RunId("r"), old}}, After(std::chrono::hours(1)))),
      SizeIs(1));
  EXPECT_FALSE(Now(runs().Release(ann_, RunId("r"), old)));
  EXPECT_FALSE(Now(runs().Finish(ann_, RunId("r"), old, Ended(""), kNow)));
  EXPECT_EQ(StateOf(0), CallState::kStarted);
  EXPECT_THAT(*Now(runs().Calls(ann_, RunId("r"))), SizeIs(1));
}

TEST_P(RunStoreTest, AReleasedRunIsFreeAtOnce) {
  const Lease lease = StartRun("r");
  ASSERT_TRUE(Now(runs().Release(ann_, RunId("r"), lease)));
  EXPECT_TRUE(Now(runs().Claim(ann_, RunId("r"), Term("other"))));
}

TEST_P(RunStoreTest, AttemptsCountUntilTheRunWaitsAgain) {
  const RunId id("r");
  Lease lease = StartRun("r");
  const auto attempts = [&] { return Now(runs().Find(ann_, id))->attempts; };
  EXPECT_EQ(attempts(), 0U);
  ASSERT_TRUE(Now(runs().Release(ann_, id, lease)));
  lease = *Now(runs().Claim(ann_, id, Term("a")));
  EXPECT_EQ(attempts(), 1U);
  ASSERT_TRUE(Now(runs().Postpone(ann_, id, lease, {})));
  const Lease old = std::exchange(lease, *Now(runs().Claim(ann_, id, Term("b"))));
  EXPECT_EQ(attempts(), 2U);
  EXPECT_FALSE(Now(runs().Postpone(ann_, id, old, {.counts = false})));
  ASSERT_TRUE(Now(runs().Postpone(ann_, id, lease, {.counts = false})));
  EXPECT_EQ(attempts(), 1U);
  lease = *Now(runs().Claim(ann_, id, Term("c")));
  ASSERT_TRUE(Now(runs().Wait(ann_, id, lease, {}, kNow)));
  EXPECT_EQ(attempts(), 0U);
}

TEST_P(RunStoreTest, AClaimWithoutAChangeIsNoAttemptOfTheNextHolder) {
  const RunId id("r");
  StartRun("r");
  const auto attempts = [&] { return Now(runs().Find(ann_, id))->attempts; };
  SystemTime now = kNow;
  const auto claim = [&](const char* holder) {
    now += std::chrono::minutes(1);
    return *Now(runs().Claim(ann_, id, Term(holder, now)));
  };
  claim("a");
  EXPECT_EQ(attempts(), 1U);
  for (const char* holder : {"b", "a", "b", "c"}) claim(holder);  // None of them could go on.
  EXPECT_EQ(attempts(), 1U);
  Lease lease = claim("d");
  ASSERT_TRUE(Now(runs().DoubtStartedCalls(ann_, id, lease, now)));
  claim("e");  // "d" is lost.
  EXPECT_EQ(attempts(), 2U);
  lease = claim("f");
  ASSERT_TRUE(Now(runs().Postpone(ann_, id, lease, {.counts = false})));
  EXPECT_EQ(attempts(), 1U);
  claim("g");
  EXPECT_EQ(attempts(), 2U);
}

TEST_P(RunStoreTest, SavedBytesAreReplacedAndGoWithTheEnd) {
  const Lease lease = StartRun("r");
  EXPECT_EQ(Now(runs().LoadSaved(ann_, RunId("r"))).error().code(), ErrorCode::kNotFound);
  const std::string sealed(100'000, '\xfe');
  ASSERT_TRUE(Now(runs().Wait(ann_, RunId("r"), lease, SavedRun{1, "build", "old"}, kNow)));
  ASSERT_TRUE(Now(runs().Wait(ann_, RunId("r"), lease, SavedRun{2, "build", sealed}, kNow)));
  const auto saved = Now(runs().LoadSaved(ann_, RunId("r")));
  EXPECT_EQ(saved->seq, 2U);
  EXPECT_EQ(saved->build, "build");
  EXPECT_EQ(saved->sealed, sealed);
  EXPECT_EQ(Now(runs().Usage(ann_))->waiting_runs, 1U);
  EXPECT_EQ(Now(runs().Usage(ann_))->saved_bytes, sealed.size());
  ASSERT_TRUE(Now(runs().Resume(ann_, RunId("r"), lease, kNow)));
  EXPECT_EQ(Now(runs().Usage(ann_))->waiting_runs, 0U);
  EXPECT_TRUE(Now(runs().LoadSaved(ann_, RunId("r"))));
  ASSERT_TRUE(Now(runs().Finish(ann_, RunId("r"), lease, Ended("{}", {"one", ""}),
                                After(std::chrono::seconds(1)))));
  EXPECT_FALSE(Now(runs().LoadSaved(ann_, RunId("r"))));
  EXPECT_EQ(*Now(runs().LoadFile(ann_, RunId("r"), 0)), "one");
  EXPECT_EQ(*Now(runs().LoadFile(ann_, RunId("r"), 1)), "");
  EXPECT_FALSE(Now(runs().LoadFile(ann_, RunId("r"), 2)));
  const auto run = Now(runs().Find(ann_, RunId("r")));
  EXPECT_EQ(run->state, RunState::kFinished);
  EXPECT_EQ(run->outcome, "{}");
  EXPECT_EQ(run->updated_at, After(std::chrono::seconds(1)));
}

TEST_P(RunStoreTest, ARunThatEndedIsStoredOnceAndFinished) {
  const auto run = [&](const IsolationKey& owner, const char* id) {
    return EndedRun{.owner = owner,
                    .id = RunId(id),
                    .code_digest = "code",
                    .request = "12345",
                    .end = Ended("1234567", {"abc"}),
                    .created_at = kNow,
                    .ended_at = After(std::chrono::seconds(1))};
  };
  for (int repetition = 0; repetition < 2; ++repetition) {  // The second one changes nothing.
    ASSERT_TRUE(Now(StoreEnded(runs(), run(ann_, "a"))));
    ASSERT_TRUE(Now(StoreEnded(runs(), run(ann_, "b"))));
    ASSERT_TRUE(Now(StoreEnded(runs(), run(bob_, "a"))));
  }
  EXPECT_THAT(Now(runs().List(ann_, RunState::kFinished, {}))->items, SizeIs(2));
  EXPECT_THAT(Now(runs().List(bob_, RunState::kFinished, {}))->items, SizeIs(1));
  const auto found = Now(runs().Find(ann_, RunId("b")));
  ASSERT_TRUE(found) << Why(found);
  EXPECT_EQ(found->state, RunState::kFinished);
  EXPECT_EQ(found->outcome, "1234567");
  EXPECT_EQ(found->created_at, kNow);
  EXPECT_EQ(found->updated_at, After(std::chrono::seconds(1)));
  EXPECT_EQ(*Now(runs().LoadFile(ann_, RunId("b"), 0)), "abc");
  EXPECT_EQ(*Now(runs().StoredBytes(bob_)), 15u);
  EXPECT_FALSE(Now(runs().Claim(ann_, RunId("a"), Term("other", After(std::chrono::hours(1))))))
      << "nobody resumes it";
}

TEST_P(RunStoreTest, RunsThatEndAtTheSameTimeAreStoredTogether) {
  constexpr int kRuns = 100;
  int stored = 0;
  const auto all = [&]() -> asio::awaitable<Result<void>> {
    const auto executor = co_await asio::this_coro::executor;
    for (int i = 0; i < kRuns; ++i) {
      Spawn(executor, [this, i, &stored]() -> asio::awaitable<void> {
        const auto done = co_await StoreEnded(runs(), {.owner = ann_,
                                                       .id = RunId("r" + std::to_string(i)),
                                                       .code_digest = "code",
                                                       .end = Ended("{}"),
                                                       .created_at = kNow,
                                                       .ended_at = kNow});
        if (done) ++stored;
      });
    }
    co_return Result<void>();
  };
  ASSERT_TRUE(Now(all()));  // The loop ends when nothing is left.
  EXPECT_EQ(stored, kRuns);
  EXPECT_THAT(Now(runs().List(ann_, RunState::kFinished, {.limit = kMaxPageSize}))->items,
              SizeIs(kRuns));
}

TEST_P(RunStoreTest, AFinishedRunStaysAsItIs) {
  const Lease lease = StartRun("r");
  ASSERT_TRUE(Now(runs().Finish(ann_, RunId("r"), lease, Ended("{}"), kNow)));
  EXPECT_FALSE(Now(runs().Finish(ann_, RunId("r"), lease, Ended("again"), kNow)));
  EXPECT_FALSE(Now(runs().Claim(ann_, RunId("r"), Term("x", After(std::chrono::hours(1))))));
  EXPECT_FALSE(Begin(lease, 0, CallState::kStarted));
}

// I6
TEST_P(RunStoreTest, TheJournalOnlyGoesForward) {
  const Lease lease = StartRun("r");
  const auto finish = [&](std::uint32_t seq, CallState end) {
    return Now(runs().FinishCall(ann_, RunId("r"), lease, seq, end, "result", kNow)).has_value();
  };
  const auto start = [&](std::uint32_t seq) {
    return Now(runs().StartCall(ann_, RunId("r"), lease, seq, {}, kNow)).has_value();
  };
  ASSERT_TRUE(Begin(lease, 0, CallState::kPending));
  EXPECT_FALSE(Begin(lease, 0, CallState::kPending));  // A number is used once.
  EXPECT_FALSE(finish(0, CallState::kReturned));       // Nothing returns that was not started.
  EXPECT_FALSE(Now(runs().RetryCall(ann_, RunId("r"), lease, 0, kNow)));
  EXPECT_TRUE(start(0));
  EXPECT_FALSE(start(0));
  EXPECT_FALSE(finish(0, CallState::kDenied));
  EXPECT_FALSE(finish(0, CallState::kPending));
  EXPECT_FALSE(finish(0, CallState::kUncertain));
  EXPECT_TRUE(finish(0, CallState::kReturned));
  EXPECT_FALSE(finish(0, CallState::kRaised));
  EXPECT_FALSE(start(0));

  ASSERT_TRUE(Begin(lease, 1, CallState::kPending));
  EXPECT_TRUE(finish(1, CallState::kDenied));
  EXPECT_FALSE(start(1));
  EXPECT_FALSE(Begin(lease, 2, CallState::kReturned));
  EXPECT_FALSE(start(7));

  const auto calls = *Now(runs().Calls(ann_, RunId("r")));
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_EQ(calls[0].call.tool, "send");
  EXPECT_EQ(calls[0].call.arguments, R"({"to":"x"})");
  EXPECT_EQ(calls[0].call.idempotency_key, "key");
  EXPECT_EQ(calls[0].result, "result");
}

TEST_P(RunStoreTest, ATraceIsKeptWithItsCallUntilTheRunHasEnded) {
  const Lease lease = StartRun("r");
  const std::string trace("\x00\xff\x01trace", 8);
  ASSERT_TRUE(Now(runs().BeginCall(ann_, RunId("r"), lease, {.seq = 0, .trace = trace}, kNow)));
  ASSERT_TRUE(Now(runs().BeginCall(ann_, RunId("r"), lease, {.seq = 1}, kNow)));
  const auto traces = [&] {
    std::vector<std::string> found;
    for (const StoredCall& call : *Now(runs().Calls(ann_, RunId("r"))))
      found.push_back(call.call.trace);
    return found;
  };
  EXPECT_THAT(traces(), testing::ElementsAre(trace, ""));
  ASSERT_TRUE(Now(runs().Finish(ann_, RunId("r"), lease, Ended("{}"), kNow)));
  EXPECT_THAT(traces(), testing::ElementsAre("", ""));
}

// I6: after a takeover it is unknown whether a started call has happened.
TEST_P(RunStoreTest, ACallThatADeadReplicaStartedIsUncertain) {
  const Lease dead = StartRun("r");
  ASSERT_TRUE(Begin(dead, 0, CallState::kStarted));
  ASSERT_TRUE(Begin(dead, 1, CallState::kPending));
  ASSERT_TRUE(Begin(dead, 2, CallState::kStarted));
  ASSERT_TRUE(Now(runs().FinishCall(ann_, RunId("r"), dead, 2, CallState::kRaised, "x", kNow)));
  const Lease next =
      *Now(runs().Claim(ann_, RunId("r"), Term("next", After(std::chrono::minutes(1)))));
  EXPECT_EQ(*Now(runs().DoubtStartedCalls(ann_, RunId("r"), next, kNow)), 1U);
  EXPECT_EQ(StateOf(0), CallState::kUncertain);
  EXPECT_EQ(StateOf(1), CallState::kPending);
  EXPECT_EQ(StateOf(2), CallState::kRaised);
  EXPECT_FALSE(Now(runs().FinishCall(ann_, RunId("r"), next, 0, CallState::kReturned, "", kNow)));
  ASSERT_TRUE(Now(runs().RetryCall(ann_, RunId("r"), next, 0, kNow)));
  EXPECT_TRUE(Now(runs().FinishCall(ann_, RunId("r"), next, 0, CallState::kReturned, "", kNow)));
}

TEST_P(RunStoreTest, HostileNamesAreDataOrRefused) {
  const std::string nasty = "x'; DROP TABLE runs; -- \"$1\" %s \xe2\x80\xae";
  ASSERT_TRUE(Now(runs().Create(ann_, {.id = RunId(nasty)}, Term("x"))));
  EXPECT_EQ(Now(runs().Find(ann_, RunId(nasty)))->id.str(), nasty);
  for (const std::string& bad : {std::string("a\0b", 3), std::string("\xff")}) {
    EXPECT_EQ(Now(runs().Create(ann_, {.id = RunId(bad)}, Term("x"))).error().code(),
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(Now(runs().Find(ann_, RunId(bad))).error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(Now(runs().Find(ann_, RunId(nasty))));
}

INSTANTIATE_OVER_BACKENDS(RunStoreTest);

}  // namespace
}  // namespace caisson
