#include "approval/desk.h"

#include <gmock/gmock.h>

#include "approval/grant_pattern.h"
#include "approval/presentation.h"
#include "store/sqlite/sqlite_store.h"
#include "tests/store/backend.h"
#include "wire/json.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::shared_ptr<const Tool> MakeSend(Approval approval, std::string description = "") {
  return *Tool::Make({.name = "send",
                      .description = std::move(description),
                      .input_schema = *ParseJson(R"({"type": "object", "properties":
                          {"to": {"type": "string"}, "amount": {"type": "number"}}})"),
                      .approval = std::move(approval)},
                     Inline([](const Dict&) -> Result<Value> { return Value(); }));
}

class DeskTest : public testing::Test {
 protected:
  CallToJudge Call(std::uint32_t seq, const char* to, std::optional<CallSession> session = {}) {
    const Dict arguments{{{"to", to}}};
    return {.place = {.run = RunId("run_1"), .seq = seq, .code_digest = CodeDigest("code")},
            .tool = send_,
            .arguments = std::make_shared<CanonicalArguments>(*Canonicalize(arguments)),
            .needs_approval = send_->NeedsApproval(arguments),
            .session = std::move(session)};
  }
  Ruling Judge(CallToJudge call) {
    auto ruling = Now(desk_.Judge(ann_, std::move(call)));
    EXPECT_TRUE(ruling) << Why(ruling);
    return *ruling;
  }
  // Judges a call, requests its approval, and answers.
  Result<StoredApproval> Settle(CallToJudge call, Answer answer) {
    const Ruling ruling = Judge(std::move(call));
    EXPECT_EQ(ruling.kind, Ruling::Kind::kAsk);
    const auto asked = Now(desk_.Ask(ann_, ruling.question));
    EXPECT_TRUE(asked) << Why(asked);
    return Now(desk_.Decide(ann_, asked->asked.id, std::move(answer)));
  }
  static Answer Yes(std::optional<StandingYes> standing = {}) {
    return {.verdict = ApprovalState::kApproved, .by = "bea", .standing = std::move(standing)};
  }
  std::vector<std::string> AuditKinds(const IsolationKey& owner) {
    std::vector<std::string> kinds;
    for (const AuditEntry& entry : *Now(store_->audit().Read(owner, 0, 100))) {
      kinds.push_back(entry.event.kind);
    }
    return kinds;
  }

  const std::unique_ptr<Store> store_ = *OpenMemoryStore();
  DecisionNotifier notifier_;
  ManualClock clock_;
  ApprovalDesk desk_{
      *store_, notifier_, clock_, {.expire = std::chrono::hours(1), .max_pending = 3}};
  const IsolationKey ann_ = OwnerNamed("ann");
  const IsolationKey bob_ = OwnerNamed("bob");
  std::shared_ptr<const Tool> send_ = MakeSend(Approval::Always());
};

TEST_F(DeskTest, TheToolsRuleSaysWhoMustBeAsked) {
  send_ = MakeSend(Approval::Never());
  EXPECT_EQ(Judge(Call(0, "ann")).kind, Ruling::Kind::kFree);
  send_ = MakeSend(Approval::Unless(*Schema::Compile(
      *ParseJson(R"({"properties": {"to": {"const": "ann"}}, "required": ["to"]})"))));
  EXPECT_EQ(Judge(Call(0, "ann")).kind, Ruling::Kind::kFree);
  EXPECT_EQ(Judge(Call(0, "bob")).kind, Ruling::Kind::kAsk);
  EXPECT_THAT(AuditKinds(ann_), IsEmpty());
}

TEST_F(DeskTest, AskingTwiceIsAskingOnce) {
  const Question question = Judge(Call(3, "ann")).question;
  const auto asked = Now(desk_.Ask(ann_, question));
  ASSERT_TRUE(asked) << Why(asked);
  EXPECT_EQ(asked->asked.expires_at, clock_.Now() + std::chrono::hours(1));
  EXPECT_TRUE(Present(asked->asked));
  clock_.Advance(std::chrono::minutes(1));
  const auto again = Now(desk_.Ask(ann_, question));
  ASSERT_TRUE(again) << Why(again);
  EXPECT_EQ(again->asked.id, asked->asked.id);
  EXPECT_EQ(again->asked.expires_at, asked->asked.expires_at);
  ASSERT_TRUE(Now(desk_.Decide(ann_, asked->asked.id, Yes())));
  EXPECT_EQ(Now(desk_.Ask(ann_, question))->state, ApprovalState::kApproved);
  // The same position with another call.
  EXPECT_EQ(Now(desk_.Ask(ann_, Judge(Call(3, "bob")).question)).error().code(),
            ErrorCode::kFailedPrecondition);
}

TEST_F(DeskTest, OpenQuestionsAreBounded) {
  for (std::uint32_t seq = 0; seq < 3; ++seq) {
    ASSERT_TRUE(Now(desk_.Ask(ann_, Judge(Call(seq, "ann")).question)));
  }
  EXPECT_EQ(Now(desk_.Ask(ann_, Judge(Call(3, "ann")).question)).error().code(),
            ErrorCode::kResourceExhausted);
}

// I5
TEST_F(DeskTest, ChangedArgumentsAreCheckedByTheToolAndStored) {
  const auto asked = Now(desk_.Ask(ann_, Judge(Call(0, "ann")).question));
  const auto decide = [&](Answer answer, std::shared_ptr<const Tool> tool) {
    return Now(desk_.Decide(ann_, asked->asked.id, std::move(answer), std::move(tool)));
  };
  Answer answer = Yes();
  answer.changes = Dict{{{"to", "bob"}}};
  EXPECT_EQ(decide(answer, nullptr).error().code(), ErrorCode::kFailedPrecondition);
  answer.verdict = ApprovalState::kDenied;
  EXPECT_EQ(decide(answer, send_).error().code(), ErrorCode::kInvalidArgument);
  answer = Yes(StandingYes{});
  answer.changes = Dict{{{"to", "bob"}}};
  EXPECT_EQ(decide(answer, send_).error().code(), ErrorCode::kInvalidArgument);
  answer.standing.reset();
  answer.changes = Dict{{{"to", 1}}};
  EXPECT_EQ(decide(answer, send_).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Now(store_->approvals().Find(ann_, asked->asked.id))->state, ApprovalState::kPending);

  answer.changes = Dict{{{"to", "bob"}}};
  const auto decided = decide(answer, send_);
  ASSERT_TRUE(decided) << Why(decided);
  EXPECT_EQ(decided->decision->edited->text, R"({"to":"bob"})");
  EXPECT_TRUE(decide(answer, send_));  // Again: nothing changes.
  const std::string shown = ToJson(*decided);
  EXPECT_THAT(shown, testing::HasSubstr(R"("arguments":{"to":"ann"})"));
  EXPECT_THAT(shown, testing::HasSubstr(R"("edited_arguments":{"to":"bob"})"));
}

TEST_F(DeskTest, AListenerIsWokenOnlyByADecisionOfItsRun) {
  int mine = 0;
  int others = 0;
  const auto listening = notifier_.Listen(ann_, RunId("run_1"), [&] { ++mine; });
  const auto elsewhere = notifier_.Listen(ann_, RunId("run_10"), [&] { ++others; });
  const auto stranger = notifier_.Listen(bob_, RunId("run_1"), [&] { ++others; });
  {
    const auto gone = notifier_.Listen(ann_, RunId("run_1"), [&] { ++others; });
  }
  ASSERT_TRUE(Settle(Call(0, "ann"), Yes()));
  EXPECT_EQ(mine, 1);
  EXPECT_EQ(others, 0);
}

TEST_F(DeskTest, ObjectsOfAnotherIdentityAreNotFound) {
  const auto asked = Now(desk_.Ask(ann_, Judge(Call(0, "ann")).question));
  const auto theirs = Now(desk_.Decide(bob_, asked->asked.id, Yes()));
  const auto none = Now(desk_.Decide(bob_, ApprovalId("apr_none"), Yes()));
  EXPECT_EQ(theirs.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(Why(theirs), Why(none));
}

TEST_F(DeskTest, SilenceEndsAsANo) {
  int rung = 0;
  const auto listening = notifier_.Listen(ann_, RunId("run_1"), [&] { ++rung; });
  const auto asked = Now(desk_.Ask(ann_, Judge(Call(0, "ann")).question));
  EXPECT_EQ(*Now(desk_.ExpireDue()), 0u);
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(*Now(desk_.ExpireDue()), 1u);
  EXPECT_EQ(rung, 1);
  EXPECT_EQ(Now(store_->approvals().Find(ann_, asked->asked.id))->state, ApprovalState::kExpired);
  EXPECT_EQ(Now(desk_.Decide(ann_, asked->asked.id, Yes())).error().code(),
            ErrorCode::kFailedPrecondition);
}

TEST_F(DeskTest, AYesToOneCallIsNoYesToTheNext) {
  ASSERT_TRUE(Settle(Call(0, "ann"), Yes()));
  EXPECT_EQ(Judge(Call(1, "ann")).kind, Ruling::Kind::kAsk);
}

TEST_F(DeskTest, AGrantForTheseArgumentsCoversNoOthers) {
  ASSERT_TRUE(Settle(Call(0, "ann"), Yes(StandingYes{.scope = StandingYes::Scope::kAlways})));
  const Ruling ruling = Judge(Call(1, "ann"));
  EXPECT_EQ(ruling.kind, Ruling::Kind::kGranted);
  EXPECT_EQ(ruling.grant, Now(desk_.Grants(ann_))->at(0).id);
  EXPECT_EQ(Judge(Call(2, "bob")).kind, Ruling::Kind::kAsk);
  EXPECT_THAT(AuditKinds(ann_), ElementsAre("approval.approved", "grant.given", "grant.used"));
  EXPECT_TRUE(VerifyChain(*Now(store_->audit().Read(ann_, 0, 100))));
}

TEST_F(DeskTest, AGrantForASessionEndsWithIt) {
  const StandingYes here{.scope = StandingYes::Scope::kSession,
                         .arguments = StandingYes::Arguments::kAny};
  const CallSession chat{"chat", SessionId("first")};
  ASSERT_TRUE(Settle(Call(0, "ann", chat), Yes(here)));
  EXPECT_EQ(Judge(Call(1, "bob", chat)).kind, Ruling::Kind::kGranted);
  // The next session with that name is another session.
  EXPECT_EQ(Judge(Call(2, "bob", CallSession{"chat", SessionId("second")})).kind,
            Ruling::Kind::kAsk);
  EXPECT_EQ(Judge(Call(3, "bob")).kind, Ruling::Kind::kAsk);
}

// A stored grant that has only the name of a session and no id.
TEST_F(DeskTest, AGrantForASessionWithoutAnIdCoversNothing) {
  const CallSession nameless{"chat", SessionId("")};
  const StandingYes here{.scope = StandingYes::Scope::kSession,
                         .arguments = StandingYes::Arguments::kAny};
  ASSERT_TRUE(Settle(Call(0, "ann", nameless), Yes(here)));
  EXPECT_EQ(Judge(Call(1, "ann", nameless)).kind, Ruling::Kind::kAsk);
  EXPECT_EQ(Judge(Call(2, "ann", CallSession{"chat", SessionId("id")})).kind, Ruling::Kind::kAsk);
}

TEST_F(DeskTest, AGrantCanNameArgumentsByASchema) {
  const StandingYes small{.scope = StandingYes::Scope::kAlways,
                          .schema = *ParseJson(R"({"properties": {"to": {"pattern": "@acme$"}}})")};
  ASSERT_TRUE(Settle(Call(0, "ann@acme"), Yes(small)));
  EXPECT_EQ(Judge(Call(1, "cid@acme")).kind, Ruling::Kind::kGranted);
  EXPECT_EQ(Judge(Call(2, "cid@evil")).kind, Ruling::Kind::kAsk);
}

TEST_F(DeskTest, AGrantIsOneIdentitysAndOneDefinitions) {
  const StandingYes any{.scope = StandingYes::Scope::kAlways,
                        .arguments = StandingYes::Arguments::kAny};
  ASSERT_TRUE(Settle(Call(0, "ann"), Yes(any)));
  EXPECT_EQ(Now(desk_.Judge(bob_, Call(1, "ann")))->kind, Ruling::Kind::kAsk);
  send_ = MakeSend(Approval::Always(), "Something else by the same name.");
  EXPECT_EQ(Judge(Call(1, "ann")).kind, Ruling::Kind::kAsk);
}

TEST_F(DeskTest, ARevokedGrantCoversNothing) {
  const StandingYes any{.scope = StandingYes::Scope::kAlways,
                        .arguments = StandingYes::Arguments::kAny};
  const auto approval = Settle(Call(0, "ann"), Yes(any));
  const GrantId id = Now(desk_.Grants(ann_))->at(0).id;
  EXPECT_EQ(Now(desk_.Revoke(bob_, id, "bob")).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(Now(desk_.Revoke(ann_, id, "bea")));
  EXPECT_EQ(Judge(Call(1, "ann")).kind, Ruling::Kind::kAsk);
  // Repeating the answer does not restore it.
  ASSERT_TRUE(Now(desk_.Decide(ann_, approval->asked.id, Yes(any))));
  EXPECT_THAT(*Now(desk_.Grants(ann_)), IsEmpty());
  EXPECT_EQ(Judge(Call(1, "ann")).kind, Ruling::Kind::kAsk);
}

TEST_F(DeskTest, AnAnswerSentTwiceGivesOneGrant) {
  const StandingYes always{.scope = StandingYes::Scope::kAlways};
  const auto approval = Settle(Call(0, "ann"), Yes(always));
  ASSERT_TRUE(Now(desk_.Decide(ann_, approval->asked.id, Yes(always))));
  EXPECT_THAT(*Now(desk_.Grants(ann_)), SizeIs(1));
}

TEST_F(DeskTest, AnswersThatMakeNoSenseDecideNothing) {
  const auto asked = Now(desk_.Ask(ann_, Judge(Call(0, "ann")).question));
  const std::vector<Answer> wrong = {
      {.verdict = ApprovalState::kDenied, .standing = StandingYes{}},
      Yes(StandingYes{.scope = StandingYes::Scope::kSession}),
      Yes(StandingYes{.scope = StandingYes::Scope::kAlways, .schema = Value("no schema")}),
      {.verdict = ApprovalState::kConsumed}};
  for (const Answer& answer : wrong) {
    EXPECT_EQ(Now(desk_.Decide(ann_, asked->asked.id, answer)).error().code(),
              ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(Now(store_->approvals().Find(ann_, asked->asked.id))->state, ApprovalState::kPending);
}

TEST_F(DeskTest, ACallThatWasNotHashedCannotBeApproved) {
  NewApproval forged{.id = ApprovalId("apr_x"),
                     .binding = Judge(Call(0, "ann")).question.binding,
                     .arguments = R"({"to":"bob"})",
                     .created_at = clock_.Now(),
                     .expires_at = clock_.Now() + std::chrono::hours(1)};
  ASSERT_TRUE(Now(store_->approvals().Create(ann_, forged, 10)));
  EXPECT_EQ(Now(desk_.Decide(ann_, forged.id, Yes())).error().code(),
            ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(Now(desk_.Decide(ann_, forged.id, {.verdict = ApprovalState::kDenied})));
}

TEST(GrantPatternTest, UnknownPatternsAreRefused) {
  const GrantPattern pattern{
      .tool_digest = "d", .session = CallSession{"s", SessionId("i")}, .arguments_digest = "a"};
  const auto parsed = ParseGrantPattern(*Encode(pattern));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->session, pattern.session);
  for (const char* text :
       {"", "[]", "{}", R"({"tool_digest":1})", R"({"only_on":"monday","tool_digest":"d"})",
        R"({"session":7,"session_id":"i","tool_digest":"d"})",
        R"({"session":"s","tool_digest":"d"})", R"({"session_id":"i","tool_digest":"d"})"}) {
    EXPECT_FALSE(ParseGrantPattern(text)) << text;
  }
}

}  // namespace
}  // namespace caisson
