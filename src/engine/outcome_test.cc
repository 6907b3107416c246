#include "engine/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "wire/json.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(OutcomeTest, ShowsEverythingInTheOrderOfTheDesign) {
  Outcome outcome{.run_id = "run_x"};
  outcome.status = RunStatus::kCompleted;
  outcome.reason = RunReason::kReturned;
  outcome.stdout_text = "hi\n";
  outcome.stderr_truncated = true;
  outcome.result = Value(std::int64_t{42});
  outcome.findings.push_back(
      {.rule = "import", .message = "no", .line = 1, .column = 2, .hint = "use"});
  outcome.files.push_back(
      {.path = "/output/a.csv", .change = "created", .size = 3, .contents = "a,b"});
  Dict arguments;
  arguments.items.emplace_back(std::string("a"), std::int64_t{1});
  outcome.calls.push_back({.seq = 0,
                           .tool = "add",
                           .arguments = arguments,
                           .outcome = "returned",
                           .duration = std::chrono::microseconds(5)});
  outcome.boundary = {.engine = "wasm", .tier = "namespace", .missing = {"cgroup"}};
  outcome.usage = {.wall = std::chrono::microseconds(10),
                   .cpu = std::chrono::microseconds(9),
                   .queue = std::chrono::microseconds(2),
                   .start = std::chrono::nanoseconds(1999),
                   .peak_memory_bytes = 4096};
  EXPECT_EQ(
      ToJson(outcome, FileData::kInclude),
      R"({"run_id":"run_x","status":"completed","reason":"returned","stdout":"hi\n","stderr":"",)"
      R"("truncated":{"stdout":false,"stderr":true},"has_result":true,"result":42,)"
      R"("result_repr":null,"error":null,)"
      R"("findings":[{"rule":"import","message":"no","line":1,"column":2,"hint":"use"}],)"
      R"("files":[{"path":"/output/a.csv","change":"created","size":3,"media_type":"text/csv",)"
      R"("sha256":"1eb7c54d52831bbfe8942af0b1c56b7409523a59ed6ca99c1174fef7eb32c1b5",)"
      R"("data":"YSxi"}],)"
      R"("calls":[{"seq":0,"tool":"add","arguments":{"a":1},"outcome":"returned","duration_us":5}],)"
      R"("approvals":[],"boundary":{"engine":"wasm","tier":"namespace","missing":["cgroup"]},)"
      R"("usage":{"wall_us":10,"cpu_us":9,"peak_memory_bytes":4096,"queue_us":2,"start_us":1}})");
}

TEST(OutcomeTest, WithoutResultItIsNull) {
  const std::string json = ToJson(Outcome{}, FileData::kOmit);
  EXPECT_THAT(json, HasSubstr(R"("has_result":false,"result":null,"result_repr":null)"));
  EXPECT_THAT(json, HasSubstr(R"("findings":[],"files":[],"calls":[],"approvals":[])"));
}

TEST(OutcomeTest, AResultJsonCannotHoldIsShownAsItsRepr) {
  Outcome outcome;
  outcome.result_repr = "<object>";
  EXPECT_THAT(ToJson(outcome, FileData::kOmit),
              HasSubstr(R"("has_result":true,"result":null,"result_repr":"<object>")"));
  Outcome lying;
  lying.result = Value(Bytes{"x"});
  EXPECT_THAT(ToJson(lying, FileData::kOmit),
              HasSubstr(R"("result":null,"result_repr":"<a value)"));
}

TEST(OutcomeTest, LongArgumentsAreCutAndMarked) {
  const auto call = [](std::size_t bytes) {
    return OutcomeCall{.tool = "f", .arguments = Dict{{{"x", std::string(bytes, 'y')}}}};
  };
  Outcome outcome{.calls = {call(60'000), call(70'000), call(1)}};
  outcome.approvals = {{.id = "a", .arguments = call(70'000).arguments}};
  std::string json = ToJson(outcome, FileData::kOmit);
  EXPECT_NE(json.find(R"({"x":"y"})"), json.npos);
  EXPECT_NE(json.find(R"("tool":"f","arguments":null,"arguments_omitted":true)"), json.npos);
  EXPECT_NE(json.find(R"("tool":"","arguments":null,"arguments_omitted":true)"), json.npos);
  EXPECT_LT(json.size(), 62'000u);
  outcome.calls.assign(1000, call(60'000));
  outcome.calls.push_back({.tool = "f", .arguments = List{std::vector<Value>(1'000'000)}});
  EXPECT_LT(ToJson(outcome, FileData::kOmit).size(), 1'200'000u);
}

// Checks that GET /v1/approvals/{id} shows the arguments in the form that is hashed.
TEST(OutcomeTest, ArgumentsAreShownAsTheyAreHashed) {
  const Value arguments = Dict{{{"to", "a\u202eb"},
                                {"raw", Bytes{"hi"}},
                                {"ratio", std::numeric_limits<double>::quiet_NaN()},
                                {"map", Dict{{{std::int64_t{1}, "a"}}}}}};
  Outcome outcome;
  outcome.calls.push_back({.seq = 0, .tool = "se\u200bnd", .arguments = arguments});
  outcome.approvals.push_back({.id = "apr_1", .seq = 0, .tool = "send", .arguments = arguments});
  const std::string shown = R"("arguments":{"map":{"$dict":[[1,"a"]]},"ratio":{"$float":"nan"},)"
                            R"("raw":{"$bytes":"aGk"},"to":"a\u202eb"})";
  const std::string json = ToJson(outcome, FileData::kOmit);
  EXPECT_THAT(json, HasSubstr(R"("calls":[{"seq":0,"tool":"se\u200bnd",)" + shown));
  EXPECT_THAT(json, HasSubstr(R"("seq":0,"tool":"send",)" + shown));
  EXPECT_THAT(json, Not(HasSubstr("\u202e")));
  EXPECT_TRUE(ParseJson(json));
}

TEST(OutcomeTest, AResultWithALongIntIsNoJson) {
  Outcome outcome;
  outcome.result = Value(List{{BigInt{std::string(2000, '\x01')}}});
  EXPECT_THAT(ToJson(outcome, FileData::kOmit), HasSubstr(R"("result":null,"result_repr":"<)"));
}

TEST(OutcomeTest, ErrorsHaveALineOrNull) {
  Outcome outcome;
  outcome.error = RunError{.type = "E", .message = "\"m\"", .line = 3, .traceback = "t"};
  EXPECT_THAT(ToJson(outcome, FileData::kOmit),
              HasSubstr(R"("error":{"type":"E","message":"\"m\"","line":3,"traceback":"t"})"));
  outcome.error->line.reset();
  EXPECT_THAT(ToJson(outcome, FileData::kOmit), HasSubstr(R"("line":null)"));
}

TEST(OutcomeTest, FilesAreWithoutDataUnlessAskedFor) {
  Outcome outcome;
  outcome.files = {{.path = "/output/b", .change = "modified", .size = 1, .contents = "b"},
                   {.path = "/output/c.PNG",
                    .change = "created",
                    .size = 9,
                    .contents = "",
                    .omitted = "too big"},
                   {.path = "/output/d", .change = "deleted"}};
  const std::string json = ToJson(outcome, FileData::kOmit);
  EXPECT_EQ(json.find("\"data\""), std::string::npos);
  EXPECT_THAT(json,
              HasSubstr(R"("size":9,"media_type":"image/png","sha256":null,"omitted":"too big"})"));
  EXPECT_THAT(json, HasSubstr(R"("change":"deleted","size":0,)"));
}

TEST(OutcomeTest, InvalidUtf8BecomesTheReplacementCharacter) {
  Outcome outcome;
  // A lone continuation byte, an overlong slash, a surrogate, a code point beyond U+10FFFF, a
  // truncated sequence; then valid text.
  outcome.stdout_text = "\x80|\xC0\xAF|\xED\xA0\x80|\xF4\x90\x80\x80|\xE2\x82";
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_THAT(ToJson(outcome, FileData::kOmit),
              HasSubstr("\"stdout\":\"" + bad + "|" + bad + bad + "|" + bad + bad + bad + "|" +
                        bad + bad + bad + bad + "|" + bad + bad + "\""));
  outcome.stdout_text = std::string("\x01\x7f \xC3\xA9 \xF0\x9F\x98\x80 \0", 12);
  EXPECT_THAT(ToJson(outcome, FileData::kOmit),
              HasSubstr("\"stdout\":\"\\u0001\x7f \xC3\xA9 \xF0\x9F\x98\x80 \\u0000\""));
}

TEST(OutcomeTest, EveryStatusAndReasonHasItsName) {
  EXPECT_EQ(ToString(RunStatus::kCancelled), "cancelled");
  EXPECT_EQ(ToString(RunReason::kReturned), "returned");
  EXPECT_EQ(ToString(RunReason::kFiles), "files");
  EXPECT_EQ(ToString(RunReason::kToolCalls), "tool_calls");
  EXPECT_EQ(ToString(RunReason::kDeniedSyscall), "denied_syscall");
  EXPECT_EQ(ToString(RunReason::kLost), "lost");
}

TEST(RunIdTest, IdsAreDifferentAndSortByTime) {
  std::set<std::string> ids;
  std::string before;
  for (int i = 0; i < 2000; ++i) {
    const std::string id = NewRunId();
    EXPECT_EQ(id.size(), 30u);
    EXPECT_TRUE(id.starts_with("run_"));
    EXPECT_EQ(id.substr(4).find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz"),
              std::string::npos);
    EXPECT_LE(before, id.substr(0, 14));
    before = id.substr(0, 14);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 2000u);
}

TEST(OutcomeTest, ArgumentsWithoutANameStandLastUnderOneThatIsFree) {
  const List positional{{std::int64_t{1}, std::int64_t{2}}};
  const auto shown = [&](Dict keywords) { return *ToJson(WithPositional(keywords, positional)); };
  EXPECT_EQ(shown({}), R"({"*args":[1,2]})");
  EXPECT_EQ(shown(Dict{{{"a", 3}}}), R"({"a":3,"*args":[1,2]})");
  EXPECT_EQ(shown(Dict{{{"*args", 3}}}), R"({"*args":3,"**args":[1,2]})");
  EXPECT_EQ(*ToJson(WithPositional(Dict{{{"a", 3}}}, {})), R"({"a":3})");
}

}  // namespace
}  // namespace caisson
