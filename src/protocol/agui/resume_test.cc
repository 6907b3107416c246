#include "protocol/agui/resume.h"

#include <gmock/gmock.h>

#include "wire/json.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

using namespace std::chrono_literals;

constexpr SystemTime kNow{1'000'000s};

std::vector<OpenInterrupt> Two() {
  return {{.id = "a",
           .tool_call = "call_a",
           .tool = "send",
           .arguments = Object({{"to", "bob"}, {"n", std::int64_t{1}}}),
           .expires_at = kNow + 1h},
          {.id = "b", .tool_call = "call_b", .tool = "send"}};
}

ResumeVerdict Judge(std::string text, std::vector<OpenInterrupt> open = Two()) {
  return JudgeResume(*ParseJson(text), open, kNow);
}
std::string CodeOf(const ResumeVerdict& verdict) {
  const auto* refusal = std::get_if<ResumeRefusal>(&verdict);
  return refusal == nullptr ? "" : std::string(refusal->code);
}
std::string Both(const std::string& payload) {
  return R"([{"interruptId":"a","status":"resolved","payload":)" + payload +
         R"(},{"interruptId":"b","status":"resolved","payload":{"approved":true}}])";
}

TEST(ResumeTest, AnswersToAllInterruptsBecomeDecisions) {
  const auto verdict = Judge(Both(R"({"approved":false,"reason":"no"})"));
  const auto& answers = std::get<ResumeAnswers>(verdict);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].approval.str(), "a");
  EXPECT_FALSE(answers[0].approve);
  EXPECT_EQ(answers[0].reason, "no");
  EXPECT_TRUE(answers[1].approve);
  EXPECT_FALSE(answers[1].changes);
}

TEST(ResumeTest, ArgumentsCanBeChangedInThreeWays) {
  for (const char* payload :
       {R"({"approved":true,"editedArgs":{"to":"eve","n":1}})",
        R"({"accepted":true,"arguments":{"to":"eve"}})", R"({"accepted":true,"to":"eve"})"}) {
    const auto verdict = Judge(Both(payload));
    const auto* answers = std::get_if<ResumeAnswers>(&verdict);
    ASSERT_NE(answers, nullptr) << payload << " " << CodeOf(verdict);
    EXPECT_EQ(*answers->at(0).changes->Find("to"), Value("eve")) << payload;
  }
}

TEST(ResumeTest, OneAnswerNeedsNoList) {
  const std::vector<OpenInterrupt> one = {Two()[1]};
  for (const char* resume :
       {R"({"interruptId":"b","payload":{"approved":true}})", R"({"id":"b","approved":true})",
        R"({"interrupts":[{"interrupt_id":"b","value":{"approved":true}}]})",
        R"({"interrupt":{"toolCallId":"call_b","response":{"approved":true}}})"}) {
    EXPECT_TRUE(std::holds_alternative<ResumeAnswers>(Judge(resume, one))) << resume;
  }
}

TEST(ResumeTest, WrongAnswersHaveTheirCodes) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"1", kResumeInvalid},
      {"[]", kResumeInvalid},
      {"[1]", kResumeInvalid},
      {R"([{"payload":{"approved":true}}])", kResumeInvalid},
      {R"([{"interruptId":"a","status":"done"}])", kResumeInvalid},
      {R"([{"interruptId":"a","payload":1},{"interruptId":"b"}])", kResumeInvalid},
      {Both("{}"), kResumeInvalid},
      {Both(R"({"approved":"yes"})"), kResumeInvalid},
      {Both(R"({"approved":true,"accepted":false})"), kResumeInvalid},
      {Both(R"({"approved":false,"editedArgs":{"to":"x","n":1}})"), kResumeInvalid},
      {Both(R"({"approved":true,"editedArgs":[]})"), kResumeInvalid},
      {Both(R"({"approved":true,"arguments":{"cc":"x"}})"), kResumeInvalid},
      {Both(R"({"approved":true,"arguments":{"to":"x"},"n":2})"), kResumeInvalid},
      {Both(R"({"approved":true,"editedArgs":{"to":"x"}})"), kResumeInvalidResponse},
      {R"([{"interruptId":"a","payload":{"approved":true}}])", kResumeMissing},
      {R"([{"interruptId":"c","payload":{"approved":true}}])", kResumeNotFound},
      {R"([{"interruptId":"a","payload":{"approved":true}},
           {"interruptId":"a","payload":{"approved":true}}])",
       kResumeInvalid},
      {R"([{"interruptId":"a","payload":{"approved":true}},
           {"interruptId":"call_a","payload":{"approved":true}}])",
       kResumeInvalid},
  };
  for (const auto& [resume, code] : cases) EXPECT_EQ(CodeOf(Judge(resume)), code) << resume;
}

TEST(ResumeTest, AnExpiredInterruptCanOnlyBeCancelled) {
  std::vector<OpenInterrupt> open = {Two()[0]};
  open[0].expires_at = kNow;
  EXPECT_EQ(CodeOf(Judge(R"([{"interruptId":"a","payload":{"approved":true}}])", open)),
            kResumeNotFound);
  EXPECT_TRUE(std::holds_alternative<ResumeCancelled>(
      Judge(R"([{"interruptId":"a","status":"cancelled"}])", open)));
}

TEST(ResumeTest, CancellingIsAlwaysPossible) {
  // Also again, when nothing is open any more.
  EXPECT_TRUE(std::holds_alternative<ResumeCancelled>(
      Judge(R"([{"interruptId":"gone","status":"cancelled"}])", {})));
  // One cancelled answer is enough: no call of the turn is executed.
  EXPECT_TRUE(
      std::holds_alternative<ResumeCancelled>(Judge(R"([{"interruptId":"a","status":"cancelled"},
                {"interruptId":"b","payload":{"approved":true}}])")));
  EXPECT_EQ(CodeOf(Judge(R"([{"interruptId":"a","status":"cancelled"}])")), kResumeMissing);
}

}  // namespace
}  // namespace caisson::agui
