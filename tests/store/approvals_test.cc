#include <gmock/gmock.h>

#include "tests/store/backend.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ApprovalStoreTest : public StoreTest {
 protected:
  ApprovalStore& approvals() { return store_->approvals(); }

  static NewApproval Asked(const char* id, std::uint32_t seq = 0) {
    return {.id = ApprovalId(id),
            .binding = {.run = RunId("r"),
                        .seq = seq,
                        .tool = "send",
                        .tool_digest = "tool",
                        .arguments_digest = "arguments",
                        .code_digest = "code"},
            .arguments = R"({"to":"x"})",
            .created_at = kNow,
            .expires_at = After(std::chrono::minutes(5)),
            .session = CallSession{"chat 7", SessionId("id 7")}};
  }
  Result<void> Ask(const NewApproval& approval) {
    return Now(approvals().Create(ann_, approval, 100));
  }
  Result<StoredApproval> Decide(const char* id, ApprovalState verdict,
                                SystemTime at = After(std::chrono::seconds(1))) {
    return Now(approvals().Decide(
        ann_, ApprovalId(id), {.verdict = verdict, .by = "bea", .reason = "because", .at = at}));
  }
  // A run with one pending call, ready to be started.
  Lease PendingCall() {
    const Lease lease = StartRun("r");
    EXPECT_TRUE(Now(store_->runs().BeginCall(ann_, RunId("r"), lease,
                                             {.seq = 0,
                                              .tool = "send",
                                              .tool_digest = "tool",
                                              .arguments = "{}",
                                              .arguments_digest = "arguments",
                                              .state = CallState::kPending},
                                             kNow)));
    return lease;
  }
  Result<void> Start(const Lease& lease, const char* approval) {
    return Now(store_->runs().StartCall(ann_, RunId("r"), lease, 0, ApprovalId(approval), kNow));
  }
  ApprovalState StateOf(const char* id) {
    return Now(approvals().Find(ann_, ApprovalId(id)))->state;
  }
  std::vector<std::string> AuditKinds() {
    std::vector<std::string> kinds;
    const auto entries = *Now(store_->audit().Read(ann_, 0, 100));
    EXPECT_TRUE(VerifyChain(entries));
    for (const AuditEntry& entry : entries) kinds.push_back(entry.event.kind);
    return kinds;
  }
};

TEST_P(ApprovalStoreTest, AnApprovalComesBackAsItWasAsked) {
  ASSERT_TRUE(Ask(Asked("a")));
  const auto found = Now(approvals().Find(ann_, ApprovalId("a")));
  ASSERT_TRUE(found) << Why(found);
  EXPECT_EQ(found->asked.binding, Asked("a").binding);
  EXPECT_EQ(found->asked.arguments, R"({"to":"x"})");
  EXPECT_EQ(found->asked.expires_at, After(std::chrono::minutes(5)));
  EXPECT_EQ(found->asked.session, Asked("a").session);
  EXPECT_EQ(found->state, ApprovalState::kPending);
  EXPECT_EQ(found->decision, std::nullopt);
}

TEST_P(ApprovalStoreTest, ThereIsOnePerIdAndPerCall) {
  ASSERT_TRUE(Ask(Asked("a", 0)));
  EXPECT_FALSE(Ask(Asked("a", 1)));
  EXPECT_FALSE(Ask(Asked("b", 0)));
  EXPECT_TRUE(Ask(Asked("b", 1)));
}

TEST_P(ApprovalStoreTest, PendingOnesAreBoundedPerOwner) {
  ASSERT_TRUE(Now(approvals().Create(ann_, Asked("a", 0), 2)));
  ASSERT_TRUE(Now(approvals().Create(ann_, Asked("b", 1), 2)));
  EXPECT_EQ(Now(approvals().Create(ann_, Asked("c", 2), 2)).error().code(),
            ErrorCode::kResourceExhausted);
  EXPECT_TRUE(Now(approvals().Create(bob_, Asked("c", 2), 2)));
  ASSERT_TRUE(Decide("a", ApprovalState::kDenied));
  EXPECT_TRUE(Now(approvals().Create(ann_, Asked("c", 2), 2)));
}

TEST_P(ApprovalStoreTest, TheFirstDecisionStands) {
  ASSERT_TRUE(Ask(Asked("a")));
  const auto decided = Decide("a", ApprovalState::kApproved);
  ASSERT_TRUE(decided) << Why(decided);
  EXPECT_EQ(decided->state, ApprovalState::kApproved);
  EXPECT_EQ(decided->decision->by, "bea");
  EXPECT_EQ(decided->decision->reason, "because");
  EXPECT_EQ(decided->decision->at, After(std::chrono::seconds(1)));
  // The same again: no error, and the decider stays the same.
  const auto again = Decide("a", ApprovalState::kApproved, After(std::chrono::seconds(9)));
  ASSERT_TRUE(again) << Why(again);
  EXPECT_EQ(again->decision->at, After(std::chrono::seconds(1)));
  EXPECT_EQ(Decide("a", ApprovalState::kDenied).error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Decide("a", ApprovalState::kCancelled).error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(AuditKinds(), ElementsAre("approval.approved"));
}

TEST_P(ApprovalStoreTest, OnlyVerdictsAreDecisions) {
  ASSERT_TRUE(Ask(Asked("a")));
  for (const ApprovalState state :
       {ApprovalState::kPending, ApprovalState::kExpired, ApprovalState::kConsumed}) {
    EXPECT_EQ(Decide("a", state).error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST_P(ApprovalStoreTest, SilenceIsNeverConsent) {
  ASSERT_TRUE(Ask(Asked("a")));
  ASSERT_TRUE(Ask(Asked("b", 1)));
  ASSERT_TRUE(Decide("b", ApprovalState::kApproved));
  // Too late, even before a sweep.
  EXPECT_FALSE(Decide("a", ApprovalState::kApproved, After(std::chrono::minutes(5))));
  EXPECT_THAT(*Now(store_->maintenance().ExpireApprovals(After(std::chrono::seconds(299)), 10)),
              IsEmpty());
  const auto expired =
      *Now(store_->maintenance().ExpireApprovals(After(std::chrono::minutes(5)), 10));
  ASSERT_THAT(expired, SizeIs(1));
  EXPECT_EQ(expired[0].owner, ann_);
  EXPECT_EQ(expired[0].approval, ApprovalId("a"));
  EXPECT_EQ(expired[0].run, RunId("r"));
  EXPECT_EQ(StateOf("a"), ApprovalState::kExpired);
  EXPECT_EQ(StateOf("b"), ApprovalState::kApproved);
  EXPECT_FALSE(Decide("a", ApprovalState::kApproved));
  EXPECT_THAT(AuditKinds(), ElementsAre("approval.approved", "approval.expired"));
}

// I5
TEST_P(ApprovalStoreTest, AnApprovalIsUsedOnceForItsCall) {
  const Lease lease = PendingCall();
  ASSERT_TRUE(Ask(Asked("a")));
  EXPECT_FALSE(Start(lease, "a"));  // There is no approval.
  ASSERT_TRUE(Decide("a", ApprovalState::kApproved));
  ASSERT_TRUE(Start(lease, "a"));
  EXPECT_EQ(StateOf("a"), ApprovalState::kConsumed);
  EXPECT_FALSE(Start(lease, "a"));
  EXPECT_TRUE(Decide("a", ApprovalState::kApproved));  // The decision is unchanged.
  EXPECT_EQ(StateOf("a"), ApprovalState::kConsumed);
  ASSERT_TRUE(
      Now(store_->runs().FinishCall(ann_, RunId("r"), lease, 0, CallState::kReturned, "", kNow)));
  EXPECT_THAT(AuditKinds(), ElementsAre("approval.approved", "effect.started", "effect.returned"));
}

TEST_P(ApprovalStoreTest, EffectsUnderAStandingYesAreAuditedToTheirEnd) {
  const RunId run("r");
  const Lease lease = StartRun("r");
  const auto begin = [&](NewCall call) {
    call.tool = "send";
    return Now(store_->runs().BeginCall(ann_, run, lease, std::move(call), kNow));
  };
  ASSERT_TRUE(begin({.seq = 0}));  // Needs no approval.
  ASSERT_TRUE(begin({.seq = 1, .grant = GrantId("g")}));
  ASSERT_TRUE(begin({.seq = 2, .grant = GrantId("g")}));
  EXPECT_FALSE(begin({.seq = 3, .state = CallState::kPending, .grant = GrantId("g")}));
  for (const std::uint32_t seq : {0u, 1u}) {
    ASSERT_TRUE(
        Now(store_->runs().FinishCall(ann_, run, lease, seq, CallState::kReturned, "", kNow)));
  }
  EXPECT_EQ(*Now(store_->runs().DoubtStartedCalls(ann_, run, lease, kNow)), 1u);
  ASSERT_TRUE(Now(store_->runs().RetryCall(ann_, run, lease, 2, kNow)));
  EXPECT_THAT(AuditKinds(), ElementsAre("effect.started", "effect.started", "effect.returned",
                                        "effect.uncertain", "effect.retried"));
  EXPECT_THAT(Now(store_->audit().Read(ann_, 0, 1))->at(0).event.body,
              testing::HasSubstr(R"("grant":"g")"));
}

TEST_P(ApprovalStoreTest, ADeniedCallDoesNotStart) {
  const Lease lease = PendingCall();
  ASSERT_TRUE(Ask(Asked("a")));
  ASSERT_TRUE(Decide("a", ApprovalState::kDenied));
  EXPECT_FALSE(Start(lease, "a"));
  EXPECT_EQ(Now(store_->runs().Calls(ann_, RunId("r")))->at(0).call.state, CallState::kPending);
  ASSERT_TRUE(
      Now(store_->runs().FinishCall(ann_, RunId("r"), lease, 0, CallState::kDenied, "", kNow)));
  EXPECT_EQ(StateOf("a"), ApprovalState::kDenied);
  EXPECT_EQ(Now(approvals().Find(ann_, ApprovalId("a")))->decision->verdict,
            ApprovalState::kDenied);
  EXPECT_FALSE(Start(lease, "a"));
}

TEST_P(ApprovalStoreTest, ANoIsListedAsWhatItWasAfterTheCodeHasBeenTold) {
  const RunId run("r");
  const Lease lease = PendingCall();
  ASSERT_TRUE(Now(store_->runs().BeginCall(
      ann_, run, lease, {.seq = 1, .tool = "send", .state = CallState::kPending}, kNow)));
  ASSERT_TRUE(Ask(Asked("a", 0)));
  ASSERT_TRUE(Ask(Asked("b", 1)));
  ASSERT_TRUE(Decide("a", ApprovalState::kDenied));
  ASSERT_THAT(*Now(store_->maintenance().ExpireApprovals(After(std::chrono::minutes(5)), 10)),
              SizeIs(1));
  for (const std::uint32_t seq : {0u, 1u}) {
    ASSERT_TRUE(
        Now(store_->runs().FinishCall(ann_, run, lease, seq, CallState::kDenied, "", kNow)));
  }
  const auto ids_in = [&](ApprovalState state) {
    std::vector<std::string> ids;
    for (const StoredApproval& found : Now(approvals().List(ann_, state, {}))->items) {
      EXPECT_EQ(found.state, state);
      ids.push_back(found.asked.id.str());
    }
    return ids;
  };
  EXPECT_THAT(ids_in(ApprovalState::kDenied), ElementsAre("a"));
  EXPECT_THAT(ids_in(ApprovalState::kExpired), ElementsAre("b"));
  EXPECT_THAT(ids_in(ApprovalState::kConsumed), IsEmpty());
  // No run waits for these decisions any more.
  EXPECT_THAT(*Now(store_->maintenance().DecidedRuns(lease.holder, 10)), IsEmpty());
}

TEST_P(ApprovalStoreTest, NothingIsLeftToDecideAboutARunThatHasEnded) {
  const Lease lease = PendingCall();
  ASSERT_TRUE(Ask(Asked("a")));
  ASSERT_TRUE(Now(store_->runs().Finish(ann_, RunId("r"), lease, Ended("{}"), kNow)));
  EXPECT_EQ(StateOf("a"), ApprovalState::kCancelled);
  EXPECT_FALSE(Decide("a", ApprovalState::kApproved));
  EXPECT_THAT(AuditKinds(), ElementsAre("approval.cancelled"));
}

// I5: an approval for something else does not count.
TEST_P(ApprovalStoreTest, AnApprovalForAnotherCallStartsNothing) {
  const Lease lease = PendingCall();
  const std::vector<std::pair<const char*, void (*)(CallBinding&)>> changes = {
      {"run", [](CallBinding& call) { call.run = RunId("other"); }},
      {"seq", [](CallBinding& call) { call.seq = 1; }},
      {"tool", [](CallBinding& call) { call.tool = "other"; }},
      {"tool_digest", [](CallBinding& call) { call.tool_digest = "other"; }},
      {"arguments", [](CallBinding& call) { call.arguments_digest = "other"; }},
      {"code", [](CallBinding& call) { call.code_digest = "other"; }},
  };
  for (const auto& [name, change] : changes) {
    // One owner each, as there is one approval per call.
    const IsolationKey owner = OwnerNamed(name);
    const Lease own = *Now(
        store_->runs().Create(owner, {.id = RunId("r"), .code_digest = "code"}, Term("replica")));
    ASSERT_TRUE(Now(store_->runs().BeginCall(owner, RunId("r"), own,
                                             {.seq = 0,
                                              .tool = "send",
                                              .tool_digest = "tool",
                                              .arguments_digest = "arguments",
                                              .state = CallState::kPending},
                                             kNow)));
    NewApproval approval = Asked("a");
    change(approval.binding);
    ASSERT_TRUE(Now(approvals().Create(owner, approval, 10)));
    ASSERT_TRUE(Now(approvals().Decide(
        owner, ApprovalId("a"), {.verdict = ApprovalState::kApproved, .by = "bea", .at = kNow})));
    const auto started =
        Now(store_->runs().StartCall(owner, RunId("r"), own, 0, ApprovalId("a"), kNow));
    EXPECT_EQ(started.error().code(), ErrorCode::kFailedPrecondition) << name;
    EXPECT_EQ(Now(store_->runs().Calls(owner, RunId("r")))->at(0).call.state, CallState::kPending)
        << name;
    EXPECT_EQ(Now(approvals().Find(owner, ApprovalId("a")))->state, ApprovalState::kApproved);
  }
  // Another owner has an identical one.
  ASSERT_TRUE(Now(approvals().Create(bob_, Asked("b"), 10)));
  ASSERT_TRUE(Now(approvals().Decide(
      bob_, ApprovalId("b"), {.verdict = ApprovalState::kApproved, .by = "bob", .at = kNow})));
  EXPECT_FALSE(Start(lease, "b"));
}

// I5
TEST_P(ApprovalStoreTest, AnEditIsPartOfTheDecision) {
  const Lease lease = PendingCall();
  ASSERT_TRUE(Ask(Asked("a")));
  const EditedArguments edited{.text = R"({"to":"y"})", .digest = "edited"};
  Decision yes{.verdict = ApprovalState::kApproved, .by = "bea", .at = kNow, .edited = edited};
  const auto decide = [&] { return Now(approvals().Decide(ann_, ApprovalId("a"), yes)); };
  yes.verdict = ApprovalState::kDenied;
  EXPECT_EQ(decide().error().code(), ErrorCode::kInvalidArgument);
  yes.verdict = ApprovalState::kApproved;
  const auto decided = decide();
  ASSERT_TRUE(decided) << Why(decided);
  EXPECT_EQ(decided->decision->edited, edited);
  EXPECT_TRUE(decide());  // The same decision again changes nothing.
  yes.edited->digest = "other";
  EXPECT_EQ(decide().error().code(), ErrorCode::kFailedPrecondition);
  yes.edited.reset();
  EXPECT_EQ(decide().error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Now(approvals().List(ann_, {}, {}))->items.at(0).decision->edited, edited);

  // Only the edited arguments may be executed.
  const auto start = [&](std::string digest) {
    return Now(store_->runs().StartCall(ann_, RunId("r"), lease, 0,
                                        ApprovalUse(ApprovalId("a"), std::move(digest)), kNow));
  };
  EXPECT_EQ(start("").error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(start("other").error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(StateOf("a"), ApprovalState::kApproved);
  ASSERT_TRUE(start("edited"));
  const StoredCall call = Now(store_->runs().Calls(ann_, RunId("r")))->at(0);
  EXPECT_EQ(call.call.arguments_digest, "arguments");  // What was asked, for a replay.
  EXPECT_EQ(call.edited, edited);
  const auto entries = *Now(store_->audit().Read(ann_, 0, 100));
  EXPECT_TRUE(VerifyChain(entries));
  EXPECT_THAT(entries.at(0).event.body, HasSubstr(R"("arguments_digest":"arguments")"));
  for (const AuditEntry& entry : entries) {
    EXPECT_THAT(entry.event.body, HasSubstr(R"("edited_arguments_digest":"edited")"));
  }
}

TEST_P(ApprovalStoreTest, AnEditDoesNotStartACallThatWasApprovedAsAsked) {
  const Lease lease = PendingCall();
  ASSERT_TRUE(Ask(Asked("a")));
  ASSERT_TRUE(Decide("a", ApprovalState::kApproved));
  EXPECT_EQ(Now(store_->runs().StartCall(ann_, RunId("r"), lease, 0,
                                         ApprovalUse(ApprovalId("a"), "edited"), kNow))
                .error()
                .code(),
            ErrorCode::kFailedPrecondition);
}

// I4
TEST_P(ApprovalStoreTest, AnothersApprovalIsLikeNone) {
  ASSERT_TRUE(Ask(Asked("a")));
  EXPECT_EQ(Why(Now(approvals().Find(bob_, ApprovalId("a")))),
            Why(Now(approvals().Find(bob_, ApprovalId("never")))));
  const Decision yes{.verdict = ApprovalState::kApproved, .by = "bob", .at = kNow};
  EXPECT_EQ(Why(Now(approvals().Decide(bob_, ApprovalId("a"), yes))),
            Why(Now(approvals().Decide(bob_, ApprovalId("never"), yes))));
  EXPECT_EQ(Now(approvals().Decide(bob_, ApprovalId("a"), yes)).error().code(),
            ErrorCode::kNotFound);
  EXPECT_THAT(Now(approvals().List(bob_, {}, {}))->items, IsEmpty());
  EXPECT_THAT(*Now(store_->audit().Read(bob_, 0, 10)), IsEmpty());
  EXPECT_EQ(StateOf("a"), ApprovalState::kPending);
}

TEST_P(ApprovalStoreTest, ListsCanBeOfOneState) {
  ASSERT_TRUE(Ask(Asked("a", 0)));
  ASSERT_TRUE(Ask(Asked("b", 1)));
  ASSERT_TRUE(Ask(Asked("c", 2)));
  ASSERT_TRUE(Decide("b", ApprovalState::kDenied));
  const auto ids = [&](std::optional<ApprovalState> state, PageQuery query) {
    std::string ids;
    for (const auto& each : Now(approvals().List(ann_, state, query))->items) {
      ids += each.asked.id.str();
    }
    return ids;
  };
  EXPECT_EQ(ids({}, {}), "cba");
  EXPECT_EQ(ids(ApprovalState::kPending, {}), "ca");
  EXPECT_EQ(ids({}, {.after = "c", .limit = 1}), "b");
}

// A page has at most 64 KiB of arguments of each approval and 1 MiB of all, from journaled calls or
// not.
TEST_P(ApprovalStoreTest, ListsOmitLongArguments) {
  const Lease lease = StartRun("r");
  const auto ask = [&](std::uint32_t seq, std::size_t bytes, bool journaled) {
    NewCall call{.seq = seq,
                 .tool = "send",
                 .tool_digest = "tool",
                 .arguments = std::string(bytes, 'x'),
                 .arguments_digest = "arguments",
                 .state = CallState::kPending};
    NewApproval approval = Asked(("a" + std::to_string(10 + seq)).c_str(), seq);
    approval.arguments = call.arguments;
    if (journaled) {
      ASSERT_TRUE(Now(store_->runs().BeginCall(ann_, RunId("r"), lease, std::move(call), kNow)));
    }
    ASSERT_TRUE(Ask(approval));
  };
  const auto shown = [&] {
    std::vector<std::size_t> bytes;  // Oldest first; 0: omitted.
    for (const StoredApproval& each : Now(approvals().List(ann_, {}, {.limit = 500}))->items) {
      EXPECT_EQ(each.arguments_omitted, each.asked.arguments.empty()) << each.asked.id.str();
      bytes.insert(bytes.begin(), each.asked.arguments.size());
    }
    return bytes;
  };
  ask(0, kMaxListedArgumentBytes, true);
  ask(1, kMaxListedArgumentBytes + 1, true);
  ask(2, kMaxListedArgumentBytes, false);
  ask(3, kMaxListedArgumentBytes + 1, false);
  EXPECT_THAT(shown(), ElementsAre(65536, 0, 65536, 0));
  EXPECT_EQ(Now(approvals().Find(ann_, ApprovalId("a11")))->asked.arguments.size(), 65537u);
  EXPECT_FALSE(Now(approvals().Find(ann_, ApprovalId("a11")))->arguments_omitted);
  for (std::uint32_t seq = 4; seq < 20; ++seq) ask(seq, kMaxListedArgumentBytes, true);
  std::vector<std::size_t> expected(4, 0);
  expected.resize(20, kMaxListedArgumentBytes);
  EXPECT_THAT(shown(), testing::ElementsAreArray(expected));  // The newest ones take the 1 MiB.
}

TEST_P(ApprovalStoreTest, GrantsAreGivenListedAndRevoked) {
  const Grant grant{.id = GrantId("g"),
                    .tool = "send",
                    .pattern = "{}",
                    .scope = "session",
                    .granted_by = "bea",
                    .granted_at = kNow};
  ASSERT_TRUE(Now(approvals().AddGrant(ann_, grant)));
  EXPECT_FALSE(Now(approvals().AddGrant(ann_, grant)));
  EXPECT_THAT(*Now(approvals().ListGrants(ann_, "send")), SizeIs(1));
  EXPECT_THAT(*Now(approvals().ListGrants(ann_, std::nullopt)), SizeIs(1));
  EXPECT_THAT(*Now(approvals().ListGrants(ann_, "other")), IsEmpty());
  EXPECT_THAT(*Now(approvals().ListGrants(bob_, std::nullopt)), IsEmpty());
  EXPECT_EQ(Now(approvals().RevokeGrant(bob_, GrantId("g"), "bob", kNow)).error().code(),
            ErrorCode::kNotFound);
  ASSERT_TRUE(Now(approvals().RevokeGrant(ann_, GrantId("g"), "bea", kNow)));
  EXPECT_FALSE(Now(approvals().RevokeGrant(ann_, GrantId("g"), "bea", kNow)));
  EXPECT_THAT(*Now(approvals().ListGrants(ann_, std::nullopt)), IsEmpty());
  EXPECT_THAT(AuditKinds(), ElementsAre("grant.given", "grant.revoked"));
}

TEST_P(ApprovalStoreTest, TheHeadOfAChainIsItsLastEntry) {
  EXPECT_EQ(*Now(store_->audit().Head(ann_)), AuditHead{});
  for (const IsolationKey& owner : {ann_, bob_, ann_}) {
    ASSERT_TRUE(Now(store_->audit().Append(owner, {.at = kNow, .kind = "k", .body = "{}"})));
  }
  const AuditEntry last = Now(store_->audit().Read(ann_, 0, 100))->back();
  EXPECT_EQ(*Now(store_->audit().Head(ann_)), (AuditHead{2, last.hash}));
  EXPECT_EQ(Now(store_->audit().Head(bob_))->seq, 1);
  const auto heads = *Now(store_->maintenance().AuditHeads());
  EXPECT_THAT(heads, SizeIs(2));
  for (const OwnedAuditHead& each : heads) {
    EXPECT_EQ(each.head, *Now(store_->audit().Head(each.owner)));
  }
}

TEST_P(ApprovalStoreTest, TheAuditChainShowsEveryChange) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(
        Now(store_->audit().Append(ann_, {kNow, "kind", R"({"n":")" + std::to_string(i) + "\"}"})));
  }
  const auto entries = *Now(store_->audit().Read(ann_, 0, 100));
  ASSERT_THAT(entries, SizeIs(4));
  EXPECT_TRUE(VerifyChain(entries));
  EXPECT_TRUE(VerifyChain(std::span(entries).subspan(2), entries[1].hash, 2));
  EXPECT_THAT(*Now(store_->audit().Read(ann_, 1, 2)), SizeIs(2));
  const auto broken = [&](auto change) {
    auto changed = entries;
    change(changed);
    return Why(VerifyChain(changed));
  };
  EXPECT_THAT(broken([](auto& e) { e[1].event.body = "{}"; }), HasSubstr("entry 2"));
  EXPECT_THAT(broken([](auto& e) { e[1].event.at += std::chrono::seconds(1); }),
              HasSubstr("entry 2"));
  EXPECT_THAT(broken([](auto& e) { e[2].event.kind = "x"; }), HasSubstr("entry 3"));
  EXPECT_THAT(broken([](auto& e) { e.erase(e.begin()); }), HasSubstr("entry 1"));
  EXPECT_THAT(broken([](auto& e) { std::swap(e[2], e[3]); }), HasSubstr("entry 3"));
}

INSTANTIATE_OVER_BACKENDS(ApprovalStoreTest);

}  // namespace
}  // namespace caisson
