#include "runs/journal/run_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>

#include "approval/binding.h"
#include "base/spawn.h"
#include "base/testing/test_loop.h"
#include "store/sqlite/sqlite_store.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using CallDecision = CallJournal::CallDecision;

class RunJournalTest : public ::testing::Test {
 protected:
  RunJournalTest() { lease_ = *Now(store_->runs().Create(owner_, NewRunNamed(), Term())); }

  static NewRun NewRunNamed() {
    return {.id = RunId("run_1"), .code_digest = CodeDigest("code"), .request = "r"};
  }
  LeaseTerm Term() { return {.holder = "here", .now = clock_.Now(), .until = clock_.Now() + 1min}; }

  void RunUntil(const std::function<bool()>& done) { loop_.Until(done); }
  template <typename T>
  T Now(asio::awaitable<T> work) {
    return loop_.Await(std::move(work));
  }

  // A waiting call owns its journal, and the journal the wait. Stop() ends both, as at the end of a
  // run.
  void TearDown() override {
    for (const auto& journal : opened_) journal->Stop();
    loop_.Poll();
  }

  void ReadDecisions(const std::shared_ptr<RunJournal>& journal) {
    loop_.Await(journal->ReadDecisions());
  }

  std::shared_ptr<RunJournal> Open(std::vector<StoredCall> recorded = {}) {
    return opened_.emplace_back(
        std::make_shared<RunJournal>(JournalOptions{.store = *store_,
                                                    .desk = desk_,
                                                    .clock = clock_,
                                                    .owner = owner_,
                                                    .run = RunId("run_1"),
                                                    .lease = lease_,
                                                    .code_digest = CodeDigest("code"),
                                                    .max_bytes = max_bytes_,
                                                    .recorded = std::move(recorded)}));
  }
  std::vector<StoredCall> Rows() { return *Now(store_->runs().Calls(owner_, RunId("run_1"))); }
  // Another replica takes the run over.
  void Reclaim() {
    clock_.Advance(1h);
    lease_ = *Now(store_->runs().Claim(owner_, RunId("run_1"), Term()));
    ASSERT_TRUE(
        Now(store_->runs().DoubtStartedCalls(owner_, RunId("run_1"), lease_, clock_.Now())));
  }

  static std::shared_ptr<const Tool> MakeTool(std::string name, Approval approval = {},
                                              Repeat repeat = Repeat::kUnsafe) {
    return *Tool::Make({.name = std::move(name),
                        .input_schema = Dict{{{"additionalProperties", true}}},
                        .approval = std::move(approval),
                        .repeat = repeat},
                       Inline([](const Dict&) { return Value(); }));
  }
  static JournaledCall Call(std::uint32_t seq, std::shared_ptr<const Tool> tool,
                            std::int64_t argument = 0) {
    const Dict arguments{{{"x", argument}}};
    return {.seq = seq,
            .name = tool->name(),
            .tool = tool,
            .arguments = std::make_shared<CanonicalArguments>(*Canonicalize(arguments)),
            .needs_approval = tool->NeedsApproval(arguments)};
  }
  // Begins the call and leaves it waiting.
  std::shared_ptr<std::optional<CallDecision>> Begin(std::shared_ptr<RunJournal> journal,
                                                     JournaledCall call) {
    auto ruling = std::make_shared<std::optional<CallDecision>>();
    const auto ask = [](auto shared, auto asked, auto out) -> asio::awaitable<void> {
      *out = co_await shared->Before(std::move(asked));
    };
    Spawn(loop_.context().get_executor(), ask(journal, std::move(call), ruling));
    return ruling;
  }
  // Up to the moment at which the effect may begin.
  void Perform(RunJournal& journal, JournaledCall call) {
    const std::uint32_t seq = call.seq;
    Now(journal.Before(std::move(call)));
    ASSERT_TRUE(Now(journal.Start(seq)));
  }
  Result<StoredApproval> Decide(std::uint32_t seq, ApprovalState verdict) {
    return Now(store_->approvals().Decide(owner_, ApprovalIdOf(RunId("run_1"), seq),
                                          {.verdict = verdict, .by = "ann", .at = clock_.Now()}));
  }

  TestLoop loop_;
  ManualClock clock_;
  const std::unique_ptr<Store> store_ = *OpenMemoryStore();
  DecisionNotifier notifier_;
  ApprovalDesk desk_{*store_, notifier_, clock_};
  const IsolationKey owner_{*Identity::Create({.user = "ann"})};
  Lease lease_;
  std::uint64_t max_bytes_ = kMaxJournalBytes;
  const std::shared_ptr<const Tool> read_ = MakeTool("read");
  const std::shared_ptr<const Tool> send_ = MakeTool("send", Approval::Always());
  std::vector<std::shared_ptr<RunJournal>> opened_;
};

TEST_F(RunJournalTest, ARowIsThereBeforeTheEffectAndFinishedAfter) {
  auto journal = Open();
  auto ruling = Now(journal->Before(Call(0, read_, 7)));
  EXPECT_EQ(std::get<CallJournal::GoAhead>(ruling).idempotency_key, "run_1/0");
  ASSERT_TRUE(Now(journal->Start(0)));
  EXPECT_EQ(Rows().at(0).call.state, CallState::kStarted);
  EXPECT_EQ(Rows().at(0).call.arguments, R"({"x":7})");
  ASSERT_TRUE(Now(journal->After(0, Value(42))));
  EXPECT_EQ(Rows().at(0).call.state, CallState::kReturned);
  EXPECT_EQ(std::get<Value>(DecodeAnswerRecord(Rows().at(0).result)->answer), Value(42));
}

TEST_F(RunJournalTest, ACallWithoutRoomInTheJournalEndsTheRunBeforeItHasARow) {
  max_bytes_ = 10;  // {"x":7} has 7.
  auto journal = Open();
  EXPECT_TRUE(
      std::holds_alternative<CallJournal::GoAhead>(Now(journal->Before(Call(0, read_, 7)))));
  EXPECT_TRUE(std::holds_alternative<CallJournal::Left>(Now(journal->Before(Call(1, send_, 8)))));
  EXPECT_EQ(journal->fault(), RunJournal::Fault::kLimit);
  EXPECT_THAT(journal->fault_text(), HasSubstr("10 bytes (runs.max_journal_bytes)"));
  EXPECT_FALSE(Now(journal->Start(0)));  // Nothing begins any more.
  EXPECT_TRUE(Rows().empty());
}

TEST_F(RunJournalTest, RecordedCallsTakeRoomInTheJournal) {
  auto journal = Open();
  Perform(*journal, Call(0, read_, 7));
  ASSERT_TRUE(Now(journal->After(0, Value(std::string(1000, 'x')))));
  max_bytes_ = 1010;
  journal = Open(Rows());
  EXPECT_TRUE(
      std::holds_alternative<CallJournal::Recorded>(Now(journal->Before(Call(0, read_, 7)))));
  EXPECT_TRUE(std::holds_alternative<CallJournal::Left>(Now(journal->Before(Call(1, read_, 7)))));
  EXPECT_EQ(journal->fault(), RunJournal::Fault::kLimit);
}

TEST_F(RunJournalTest, AnAnswerWithoutRoomIsNotStoredAndItsCallHasAnEnd) {
  max_bytes_ = 500;
  auto journal = Open();
  Perform(*journal, Call(0, read_, 7));
  EXPECT_FALSE(Now(journal->After(0, Value(std::string(1000, 'x')))));
  EXPECT_EQ(journal->fault(), RunJournal::Fault::kLimit);
  EXPECT_EQ(Rows().at(0).call.state, CallState::kRaised);
  EXPECT_LT(Rows().at(0).result.size(), 100u);
}

// Also the trace before calls that have not begun: the arguments of this call may depend on it.
TEST_F(RunJournalTest, TheTraceIsStoredBeforeAnEffectBegins) {
  auto journal = Open();
  JournaledCall first = Call(0, read_, 7);
  first.trace = "told first";
  JournaledCall second = Call(1, read_, 7);
  second.trace = std::string("\0then", 5);
  Now(journal->Before(std::move(first)));
  Now(journal->Before(std::move(second)));
  ASSERT_TRUE(Now(journal->Start(1)));
  const auto calls = Rows();
  ASSERT_EQ(calls.size(), 1u);
  const auto parts = DecodeTrace(calls[0].call.trace);
  ASSERT_TRUE(parts && parts->size() == 2u);
  EXPECT_EQ(parts->at(0).seq, 0u);
  EXPECT_EQ(parts->at(0).bytes, "told first");
  EXPECT_EQ(parts->at(1).seq, 1u);
  EXPECT_EQ(parts->at(1).bytes, std::string("\0then", 5));
  ASSERT_TRUE(Now(journal->Start(0)));
  EXPECT_EQ(Rows().at(0).call.trace, "");  // Stored only once.
}

TEST_F(RunJournalTest, AGatedCallWaitsAndGoesOnOnceItIsApproved) {
  auto journal = Open();
  auto ruling = Begin(journal, Call(0, send_));
  RunUntil([&] { return journal->waits(); });
  EXPECT_EQ(Rows().at(0).call.state, CallState::kPending);
  ASSERT_EQ(journal->approvals().size(), 1u);
  EXPECT_EQ(journal->approvals()[0].tool, "send");
  ASSERT_TRUE(Decide(0, ApprovalState::kApproved));
  ReadDecisions(journal);
  RunUntil([&] { return ruling->has_value(); });
  EXPECT_EQ(std::get<CallJournal::GoAhead>(**ruling).consent, Consent::kGiven);
  EXPECT_EQ(Rows().at(0).call.state, CallState::kPending);
  ASSERT_TRUE(Now(journal->Start(0)));
  EXPECT_EQ(Rows().at(0).call.state, CallState::kStarted);
  EXPECT_FALSE(journal->waits());
}

TEST_F(RunJournalTest, AStandingYesNeedsNobody) {
  auto journal = Open();
  auto ruling = Begin(journal, Call(0, send_));
  RunUntil([&] { return journal->waits(); });
  auto decided = Now(desk_.Decide(owner_, ApprovalIdOf(RunId("run_1"), 0),
                                  {.verdict = ApprovalState::kApproved,
                                   .by = "ann",
                                   .standing = StandingYes{.scope = StandingYes::Scope::kAlways}}));
  ASSERT_TRUE(decided);
  ReadDecisions(journal);
  RunUntil([&] { return ruling->has_value(); });
  EXPECT_EQ(std::get<CallJournal::GoAhead>(Now(journal->Before(Call(1, send_)))).consent,
            Consent::kGiven);
  ASSERT_TRUE(Now(journal->Start(1)));
  EXPECT_EQ(Rows().at(1).call.state, CallState::kStarted);
}

TEST_F(RunJournalTest, ADeniedCallIsToldAndNothingElse) {
  auto journal = Open();
  auto ruling = Begin(journal, Call(0, send_));
  RunUntil([&] { return journal->waits(); });
  ASSERT_TRUE(Decide(0, ApprovalState::kDenied));
  ReadDecisions(journal);
  RunUntil([&] { return ruling->has_value(); });
  auto& instead = std::get<CallJournal::Instead>(**ruling);
  ASSERT_TRUE(Now(journal->After(0, instead.answer)));
  EXPECT_EQ(Rows().at(0).call.state, CallState::kDenied);
}

TEST_F(RunJournalTest, SeveralWaitSideBySideAndAreDecidedInAnyOrder) {
  auto journal = Open();
  auto first = Begin(journal, Call(0, send_, 1));
  auto second = Begin(journal, Call(1, send_, 2));
  RunUntil([&] { return journal->approvals().size() == 2; });
  ASSERT_TRUE(Decide(1, ApprovalState::kApproved));
  ReadDecisions(journal);
  RunUntil([&] { return second->has_value(); });
  EXPECT_FALSE(first->has_value());
  EXPECT_FALSE(journal->waits());  // One of them is running.
  ASSERT_TRUE(Now(journal->Start(1)));
  ASSERT_TRUE(Now(journal->After(1, Value())));
  EXPECT_TRUE(journal->waits());
}

TEST_F(RunJournalTest, ARunDoesNotWaitWhileACallOfItIsStillBeingRead) {
  auto journal = Open();
  journal->Expect(0);
  journal->Expect(1);
  EXPECT_EQ(journal->made(), 2u);
  auto first = Begin(journal, Call(0, send_));
  RunUntil([&] { return journal->approvals().size() == 1; });
  EXPECT_FALSE(journal->waits());  // A cell saved now would never be told about call 1.
  auto second = Begin(journal, Call(1, send_));
  RunUntil([&] { return journal->waits(); });
  EXPECT_EQ(journal->approvals().size(), 2u);
}

TEST_F(RunJournalTest, LongArgumentsAreStoredAndAskedAboutButNotShownInTheOutcome) {
  auto journal = Open();
  JournaledCall call = Call(0, send_);
  const Dict arguments{{{"x", std::string(100'000, 'a')}}};
  call.arguments = std::make_shared<CanonicalArguments>(*Canonicalize(arguments));
  auto ruling = Begin(journal, std::move(call));
  auto small = Begin(journal, Call(1, send_, 7));
  RunUntil([&] { return journal->waits(); });
  EXPECT_GT(Rows().at(0).call.arguments.size(), 100'000u);
  const auto asked = Now(store_->approvals().Find(owner_, ApprovalIdOf(RunId("run_1"), 0)));
  EXPECT_GT(asked->asked.arguments.size(), 100'000u);
  EXPECT_TRUE(journal->calls().at(0).arguments.is_none());
  EXPECT_TRUE(journal->approvals().at(0).arguments.is_none());
  EXPECT_EQ(*ToJson(journal->calls().at(1).arguments), R"({"x":7})");
  EXPECT_EQ(*ToJson(journal->approvals().at(1).arguments), R"({"x":7})");
}

// Arguments that a view shows are parsed: those of one call and of all calls are bounded.
TEST(ShownArgumentsTest, ManyLongArgumentsOfStoredCallsAreNotAllShown) {
  const CanonicalArguments arguments = *Canonicalize(Dict{{{"x", std::string(60'000, 'a')}}});
  std::vector<StoredCall> calls;
  for (std::uint32_t seq = 0; seq < 50; ++seq) {
    calls.push_back({.call = {.seq = seq,
                              .tool = "read",
                              .arguments = arguments.text,
                              .arguments_digest = arguments.digest}});
  }
  const std::vector<OutcomeCall> shown = ToOutcome(calls);
  ASSERT_EQ(shown.size(), 50u);
  const auto kept = std::ranges::count_if(
      shown, [](const OutcomeCall& call) { return !call.arguments.is_none(); });
  EXPECT_EQ(static_cast<std::size_t>(kept), kMaxOutcomeArgumentsBytes / arguments.text.size());
}

TEST_F(RunJournalTest, ARecordedCallIsNotDoneAgain) {
  auto before = Open();
  Perform(*before, Call(0, read_));
  const auto told = Now(before->After(0, Value(5)));
  Reclaim();
  auto journal = Open(Rows());
  EXPECT_FALSE(journal->caught_up());
  auto ruling = Now(journal->Before(Call(0, read_)));
  auto& recorded = std::get<CallJournal::Recorded>(ruling);
  EXPECT_EQ(std::get<Value>(recorded.answer), Value(5));
  EXPECT_EQ(recorded.at, *told);
  EXPECT_TRUE(journal->caught_up());
}

TEST_F(RunJournalTest, RecordedAnswersComeInTheirOrder) {
  auto before = Open();
  Perform(*before, Call(0, read_, 0));
  Perform(*before, Call(1, read_, 1));
  Now(before->After(1, Value(11)));
  Now(before->After(0, Value(10)));
  Reclaim();
  auto journal = Open(Rows());
  auto zero = Begin(journal, Call(0, read_, 0));
  auto one = Begin(journal, Call(1, read_, 1));
  bool checked = false;
  RunUntil([&] {
    if (one->has_value() && !std::exchange(checked, true)) EXPECT_FALSE(zero->has_value());
    return zero->has_value();
  });
  EXPECT_TRUE(checked);
}

TEST_F(RunJournalTest, AnotherCallThanTheRecordedOneDiverges) {
  auto before = Open();
  Perform(*before, Call(0, read_, 1));
  Now(before->After(0, Value(5)));
  Reclaim();
  auto journal = Open(Rows());
  EXPECT_TRUE(std::holds_alternative<CallJournal::Left>(Now(journal->Before(Call(0, read_, 2)))));
  EXPECT_EQ(journal->fault(), RunJournal::Fault::kDiverged);
  // Nothing is done for it from here on.
  EXPECT_TRUE(std::holds_alternative<CallJournal::Left>(Now(journal->Before(Call(1, read_)))));
  EXPECT_EQ(Rows().size(), 1u);
}

TEST_F(RunJournalTest, NothingNewIsDoneBeforeTheRecordWasAskedFor) {
  auto before = Open();
  Perform(*before, Call(1, read_, 1));
  Now(before->After(1, Value(5)));
  Reclaim();
  auto journal = Open(Rows());
  auto fresh = Begin(journal, Call(0, read_, 0));
  loop_.Poll();
  EXPECT_FALSE(fresh->has_value());
  EXPECT_EQ(Rows().size(), 1u);
  Begin(journal, Call(1, read_, 1));
  RunUntil([&] { return fresh->has_value(); });
  EXPECT_TRUE(std::holds_alternative<CallJournal::GoAhead>(**fresh));
}

TEST_F(RunJournalTest, ACallThatHasNotStartedIsBegunByTheNextHolder) {
  auto before = Open();
  Now(before->Before(Call(0, read_, 0)));
  auto asked = Begin(before, Call(1, send_, 1));
  RunUntil([&] { return !before->approvals().empty(); });
  ASSERT_TRUE(Decide(1, ApprovalState::kApproved));
  ReadDecisions(before);
  RunUntil([&] { return asked->has_value(); });
  // Both may continue and wait for their turn.
  EXPECT_EQ(before->calls().at(0).outcome, "pending");
  EXPECT_EQ(before->calls().at(1).outcome, "pending");
  Reclaim();
  auto journal = Open(Rows());
  auto gated = Begin(journal, Call(1, send_, 1));
  auto free = Begin(journal, Call(0, read_, 0));
  RunUntil([&] { return free->has_value() && gated->has_value(); });
  for (const std::uint32_t seq : {0u, 1u}) {
    EXPECT_FALSE(Now(before->Start(seq))) << "two replicas start the call";
    EXPECT_TRUE(Now(journal->Start(seq)));
    EXPECT_EQ(Rows().at(seq).call.state, CallState::kStarted);
  }
}

TEST_F(RunJournalTest, ARefusedCallIsNeverInDoubt) {
  JournaledCall call = Call(0, read_);
  call.refused = ToolRaised{.type = "TypeError", .message = "bad"};
  auto before = Open();
  ASSERT_TRUE(std::holds_alternative<CallJournal::Instead>(Now(before->Before(call))));
  Reclaim();
  auto journal = Open(Rows());
  auto ruling = Now(journal->Before(call));
  auto& instead = std::get<CallJournal::Instead>(ruling);
  EXPECT_EQ(std::get<ToolRaised>(instead.answer).type, "TypeError");
  ASSERT_TRUE(Now(journal->After(0, instead.answer)));
  EXPECT_EQ(Rows().at(0).call.state, CallState::kRaised);
}

TEST_F(RunJournalTest, AnEffectThatMayHaveHappenedIsUncertainAndNotRepeated) {
  auto before = Open();
  Perform(*before, Call(0, read_));
  Reclaim();
  auto journal = Open(Rows());
  auto ruling = Now(journal->Before(Call(0, read_)));
  auto& recorded = std::get<CallJournal::Recorded>(ruling);
  EXPECT_EQ(std::get<ToolRaised>(recorded.answer).type, "UncertainError");
  EXPECT_EQ(journal->calls().at(0).outcome, "uncertain");
}

TEST_F(RunJournalTest, AnIdempotentToolIsTriedAgainUnderTheSameKey) {
  const auto put = MakeTool("put", {}, Repeat::kIdempotent);
  auto before = Open();
  const auto key =
      std::get<CallJournal::GoAhead>(Now(before->Before(Call(0, put)))).idempotency_key;
  ASSERT_TRUE(Now(before->Start(0)));
  Reclaim();
  auto journal = Open(Rows());
  auto ruling = Now(journal->Before(Call(0, put)));
  EXPECT_EQ(std::get<CallJournal::GoAhead>(ruling).idempotency_key, key);
  ASSERT_TRUE(Now(journal->Start(0)));
  EXPECT_EQ(Rows().at(0).call.state, CallState::kStarted);
}

// I5
TEST_F(RunJournalTest, AnEditIsExecutedAndAReplayComparesWhatWasAsked) {
  const auto put = MakeTool("put", Approval::Always(), Repeat::kIdempotent);
  const CanonicalArguments edited = *Canonicalize(Dict{{{"x", std::int64_t{8}}}});
  auto journal = Open();
  auto ruling = Begin(journal, Call(0, put, 7));
  RunUntil([&] { return journal->waits(); });
  ASSERT_TRUE(Now(store_->approvals().Decide(
      owner_, ApprovalIdOf(RunId("run_1"), 0),
      {.verdict = ApprovalState::kApproved,
       .by = "ann",
       .at = clock_.Now(),
       .edited = EditedArguments{.text = edited.text, .digest = edited.digest}})));
  ReadDecisions(journal);
  RunUntil([&] { return ruling->has_value(); });
  EXPECT_EQ(std::get<CallJournal::GoAhead>(**ruling).edited->text, R"({"x":8})");
  ASSERT_TRUE(Now(journal->Start(0)));
  EXPECT_EQ(Rows().at(0).call.arguments, R"({"x":7})");
  EXPECT_EQ(Rows().at(0).edited->text, R"({"x":8})");

  // The process dies in the effect. The tool is idempotent, so the same edit is executed again.
  Reclaim();
  journal = Open(Rows());
  const auto again = Now(journal->Before(Call(0, put, 7)));
  EXPECT_EQ(std::get<CallJournal::GoAhead>(again).edited->text, R"({"x":8})");
  ASSERT_TRUE(Now(journal->Start(0)));
  ASSERT_TRUE(Now(journal->After(0, Value(1))));

  // A replay that calls with the edited arguments is another call.
  journal = Open(Rows());
  EXPECT_TRUE(std::holds_alternative<CallJournal::Recorded>(Now(journal->Before(Call(0, put, 7)))));
  journal = Open(Rows());
  EXPECT_TRUE(std::holds_alternative<CallJournal::Left>(Now(journal->Before(Call(0, put, 8)))));
  EXPECT_EQ(journal->fault(), RunJournal::Fault::kDiverged);
}

TEST_F(RunJournalTest, AToolThatChangedMeanwhileIsNotDoneWithTheOldYes) {
  auto before = Open();
  auto asked = Begin(before, Call(0, send_));
  RunUntil([&] { return before->waits(); });
  ASSERT_TRUE(Decide(0, ApprovalState::kApproved));
  before->Stop();
  Reclaim();
  const auto other = *Tool::Make({.name = "send",
                                  .description = "Something else.",
                                  .input_schema = Dict{{{"additionalProperties", true}}},
                                  .approval = Approval::Always()},
                                 Inline([](const Dict&) { return Value(); }));
  auto ruling = Now(Open(Rows())->Before(Call(0, other)));
  EXPECT_THAT(std::get<ToolDenied>(std::get<CallJournal::Instead>(ruling).answer).message,
              HasSubstr("changed"));
}

TEST_F(RunJournalTest, AReplicaThatLostItsLeaseDoesNothing) {
  auto before = Open();
  Reclaim();
  Now(before->Before(Call(0, read_)));
  EXPECT_FALSE(Now(before->Start(0)));
  EXPECT_EQ(before->fault(), RunJournal::Fault::kLost);
  EXPECT_TRUE(std::holds_alternative<CallJournal::Left>(Now(before->Before(Call(1, read_)))));
  EXPECT_TRUE(Rows().empty());
}

TEST_F(RunJournalTest, AFrozenCallStaysPendingWhateverIsDecided) {
  auto journal = Open();
  auto ruling = Begin(journal, Call(0, send_));
  RunUntil([&] { return journal->waits(); });
  journal->Freeze();
  ASSERT_TRUE(Decide(0, ApprovalState::kApproved));
  ReadDecisions(journal);
  RunUntil([&] { return ruling->has_value(); });
  EXPECT_TRUE(std::holds_alternative<CallJournal::Left>(**ruling));
  EXPECT_EQ(Rows().at(0).call.state, CallState::kPending);
}

TEST_F(RunJournalTest, ARunThatHasEndedWaitsForNobody) {
  auto journal = Open();
  auto ruling = Begin(journal, Call(0, send_));
  RunUntil([&] { return journal->waits(); });
  journal->Stop();
  EXPECT_FALSE(journal->waits());
  RunUntil([&] { return ruling->has_value(); });
}

}  // namespace
}  // namespace caisson
