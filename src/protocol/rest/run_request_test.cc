#include "protocol/rest/run_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/rest/output_text.h"

namespace caisson::rest {
namespace {

using testing::HasSubstr;

TEST(RunBody, HasCodeAndTheNamedFields) {
  const auto request = ParseRunBody(
      R"({"code":"6*7","session":"s","restart":true,"fork_of":"t","limits":{"wall_seconds":1.5,"files":3},"wait":false})",
      {});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->start.code, "6*7");
  EXPECT_EQ(request->start.session, "s");
  EXPECT_EQ(request->start.restart, Restart::kIfLost);
  EXPECT_EQ(request->start.fork_of, "t");
  EXPECT_EQ(request->start.limits->wall_time, std::chrono::milliseconds(1500));
  EXPECT_EQ(request->start.limits->files, 3u);
  EXPECT_EQ(request->wait, Wait::kNotAtAll);
}

TEST(RunBody, WithoutLimitsTheRequestHasNone) {
  const auto request = ParseRunBody(R"({"code":""})", {});
  ASSERT_TRUE(request);
  EXPECT_FALSE(request->start.limits);
  EXPECT_EQ(request->wait, Wait::kUntilItStops);
}

TEST(RunBody, LimitsNotNamedAreTheUsualOnes) {
  Limits usual;
  usual.files = 7;
  const auto request = ParseRunBody(R"({"code":"","limits":{"wall_seconds":1}})", usual);
  EXPECT_EQ(request->start.limits->files, 7u);
}

TEST(RunBody, MistakesAreNamed) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[]", "must be a JSON object"},
      {"{}", "\"code\" is missing"},
      {R"({"code":1})", "\"code\" must be a string"},
      {R"({"code":null})", "\"code\" must be a string"},
      {R"({"code":"","code":""})", "not JSON"},
      {R"({"code":"","restart":1})", "\"restart\" must be true or false"},
      {R"({"code":"","restart":true})", "\"restart\" is about a \"session\""},
      {R"({"code":"","fork_of":1})", "\"fork_of\" must be a string"},
      {R"({"code":"","fork_of":"s"})", "\"fork_of\" is what a new \"session\" begins as"},
      {R"({"code":"","session":[]})", "\"session\" must be a string"},
      {R"({"code":"","wait":"no"})", "\"wait\" must be true or false"},
      {R"({"code":"","policy":"open"})", "\"policy\" is not known"},
      {R"({"code":"","limits":[]})", "\"limits\" must be an object"},
      {R"({"code":"","limits":{"wall_seconds":0}})", "wall_seconds"},
      {R"({"code":"","limits":{"wall_seconds":-1}})", "wall_seconds"},
      {R"({"code":"","limits":{"wall_seconds":"1"}})", "wall_seconds"},
      {R"({"code":"","limits":{"files":1.5}})", "files"},
      {R"({"code":"","limits":{"no_such":1}})", "no_such"},
  };
  for (const auto& [body, message] : mistakes) {
    const auto request = ParseRunBody(body, {});
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code(), ErrorCode::kInvalidArgument) << body;
    EXPECT_THAT(request.error().message(), HasSubstr(message)) << body;
  }
}

TEST(Decision, IsApproveOrDeny) {
  EXPECT_EQ(ParseAnswer(R"({"decision":"approve"})")->verdict, ApprovalState::kApproved);
  const auto denied = ParseAnswer(R"({"reason":"no","decision":"deny"})");
  EXPECT_EQ(denied->verdict, ApprovalState::kDenied);
  EXPECT_EQ(denied->reason, "no");
  const auto changed = ParseAnswer(R"({"decision":"approve","arguments":{"n":1}})");
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->changes, (Dict{{{"n", std::int64_t{1}}}}));
  EXPECT_FALSE(denied->changes);
  for (const char* body :
       {"", "{}", R"({"decision":"approve","arguments":[]})", R"({"decision":"yes"})",
        R"({"decision":true})", R"({"decision":"approve","by":"ann"})",
        R"({"decision":"deny","reason":1})"}) {
    EXPECT_FALSE(ParseAnswer(body)) << body;
  }
}

TEST(OutputText, CharactersComeWhole) {
  OutputText text;
  EXPECT_EQ(text.Take(OutputStream::kStdout, "a\xf0\x9f"), "a");
  EXPECT_EQ(text.Take(OutputStream::kStderr, "b"), "b");
  EXPECT_EQ(text.Take(OutputStream::kStdout, "\x98"), "");
  EXPECT_EQ(text.Take(OutputStream::kStdout,
                      "\x80"
                      "c"),
            "\xf0\x9f\x98\x80"
            "c");
  EXPECT_EQ(text.Take(OutputStream::kStdout, "\x80\x80\x80\x80"), "\x80\x80\x80\x80");
}

}  // namespace
}  // namespace caisson::rest
