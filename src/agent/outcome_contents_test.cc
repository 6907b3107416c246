#include "agent/outcome_contents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Outcome Completed() {
  return {.status = RunStatus::kCompleted, .reason = RunReason::kReturned};
}
Content Text(std::string text, std::string stream = {}) {
  return TextContent{.text = std::move(text), .stream = std::move(stream)};
}
std::vector<Content> Show(Outcome outcome) {
  return ToContents({.outcome = std::move(outcome)});
}
const ErrorContent& ErrorIn(const std::vector<Content>& contents, std::size_t place) {
  return std::get<ErrorContent>(contents.at(place));
}

TEST(OutcomeContentsTest, TheOrderIsStdoutStderrValueFiles) {
  Outcome outcome = Completed();
  outcome.files = {{.path = "/output/a.csv", .change = "created", .size = 2, .contents = "1\n"}};
  outcome.result = Value(std::int64_t{3});
  outcome.stderr_text = "careful";
  outcome.stdout_text = "hi\n";
  EXPECT_THAT(Show(outcome),
              ElementsAre(Text("hi\n"), Text("careful", "stderr"), Text("3"),
                          Content(DataContent{
                              .bytes = "1\n", .media_type = "text/csv", .path = "/output/a.csv"})));
}

TEST(OutcomeContentsTest, NothingToShowIsSaidInWords) {
  EXPECT_THAT(Show(Completed()), ElementsAre(Text("Code executed successfully without output.")));
}

TEST(OutcomeContentsTest, AFinalPrintAddsNoNull) {
  Outcome outcome = Completed();
  outcome.stdout_text = "x\n";
  EXPECT_THAT(Show(outcome), ElementsAre(Text("x\n")));
}

TEST(OutcomeContentsTest, LinesEndWithLineFeeds) {
  Outcome outcome = Completed();
  outcome.stdout_text = "a\r\nb\rc\r\n";
  EXPECT_THAT(Show(outcome), ElementsAre(Text("a\nb\rc\n")));
}

TEST(OutcomeContentsTest, TruncatedStreamsAreMarkedAndEmptyOnesToo) {
  Outcome outcome = Completed();
  outcome.stdout_text = "abc";
  outcome.stdout_truncated = outcome.stderr_truncated = true;
  EXPECT_THAT(Show(outcome),
              ElementsAre(Text("abc\n\n[stdout truncated]"), Text("[stderr truncated]", "stderr")));
}

TEST(OutcomeContentsTest, AValueJsonCannotHoldIsShownAsItsRepr) {
  Outcome outcome = Completed();
  outcome.result_repr = "{1, 2}";
  EXPECT_THAT(Show(outcome), ElementsAre(Text("{1, 2}")));
}

TEST(OutcomeContentsTest, ValuesKeepTheirCharacters) {
  Outcome outcome = Completed();
  outcome.result = Value(std::string("Zürich"));
  EXPECT_THAT(Show(outcome), ElementsAre(Text("\"Zürich\"")));
}

TEST(OutcomeContentsTest, BytesThatAreNoTextAreReplaced) {
  Outcome outcome = Completed();
  outcome.stdout_text = "a\xff";
  EXPECT_THAT(Show(outcome), ElementsAre(Text("a\xef\xbf\xbd")));
}

TEST(OutcomeContentsTest, AFailedRunKeepsItsOutputAndFilesBesideTheError) {
  Outcome outcome{.status = RunStatus::kFailed, .reason = RunReason::kRaised};
  outcome.stdout_text = "before\n";
  outcome.error =
      RunError{.type = "ValueError", .message = "no", .traceback = "line 2\nValueError: no"};
  outcome.files = {{.path = "/output/x", .change = "created", .size = 1, .contents = "x"}};
  const auto contents = Show(outcome);
  ASSERT_EQ(contents.size(), 3u);
  EXPECT_EQ(contents[0], Text("before\n"));
  EXPECT_EQ(ErrorIn(contents, 1), (ErrorContent{"ValueError", "line 2\nValueError: no"}));
  EXPECT_EQ(std::get<DataContent>(contents[2]).path, "/output/x");
}

TEST(OutcomeContentsTest, AllFindingsAreListedWithPlaceAndHint) {
  Outcome outcome{.status = RunStatus::kRejected, .reason = RunReason::kPolicy};
  outcome.findings = {
      {.rule = "import", .message = "no socket", .line = 1, .column = 8, .hint = "use a tool"},
      {.rule = "name", .message = "no eval", .line = 3, .column = 1}};
  const auto contents = Show(outcome);
  ASSERT_EQ(contents.size(), 1u);
  EXPECT_EQ(ErrorIn(contents, 0), (ErrorContent{"CodeRejected",
                                                "Nothing was executed.\n"
                                                "line 1, column 8: no socket (use a tool)\n"
                                                "line 3, column 1: no eval"}));
}

TEST(OutcomeContentsTest, ALimitIsNamed) {
  const auto contents = Show({.status = RunStatus::kLimit, .reason = RunReason::kWallTime});
  EXPECT_THAT(ErrorIn(contents, 0).message, HasSubstr("wall_time"));
}

TEST(OutcomeContentsTest, ARunThatTookItsSessionAlongSaysSo) {
  const auto contents =
      ToContents({.outcome = {.status = RunStatus::kLimit, .reason = RunReason::kMemory},
                  .session = SessionFate::kLost});
  EXPECT_THAT(ErrorIn(contents, 0).message, HasSubstr("The session is lost"));
}

TEST(OutcomeContentsTest, OmittedAndDeletedFilesAreSaidInWords) {
  Outcome outcome = Completed();
  outcome.files = {{.path = "/output/big", .change = "created", .size = 9, .omitted = "too large"},
                   {.path = "/output/old", .change = "deleted"}};
  EXPECT_THAT(Show(outcome), ElementsAre(Text("[file /output/big omitted: too large]"),
                                         Text("[file /output/old deleted]")));
}

}  // namespace
}  // namespace caisson
