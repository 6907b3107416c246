#include "runs/journal/records.h"

#include <gtest/gtest.h>

#include "runs/journal/outcome_record.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;

TEST(RecordsTest, ARunComesBackAsItWas) {
  RunRecord record{.code = "x = '\xff'", .session = "s", .setting = "agent"};
  record.limits.wall_time = 7s;
  record.limits.files = 3;
  record.seed = std::string(32, '\x80');
  const auto back = DecodeRunRecord(Encode(record));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->code, record.code);
  EXPECT_EQ(back->session, record.session);
  EXPECT_EQ(back->setting, "agent");
  EXPECT_EQ(back->limits.wall_time, 7s);
  EXPECT_EQ(back->limits.files, 3u);
  EXPECT_EQ(back->seed, record.seed);
  EXPECT_FALSE(DecodeRunRecord(Encode(RunRecord{.code = "1"}))->seed);
}

TEST(RecordsTest, ARunComesBackWithWhomItActsFor) {
  using enum CallerVariable;
  const CallerRecord context{.values = {{kChatId, ""}, {kUserName, "\xff\n\"$(x)"}},
                             .async_delivery = AsyncDelivery::kUnsupported};
  const auto back = DecodeRunRecord(Encode(RunRecord{.code = "1", .caller = context}));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->caller, context);
  EXPECT_FALSE(DecodeRunRecord(Encode(RunRecord{.code = "1"}))->caller);
}

TEST(RecordsTest, TracesComeBackOrAreRefused) {
  const std::vector<TracePart> parts = {{0, ""}, {7, std::string("\x00\xff", 2)}};
  const std::string bytes = Encode(parts);
  const auto back = DecodeTrace(bytes);
  ASSERT_TRUE(back && back->size() == 2u);
  EXPECT_EQ(back->at(1).seq, 7u);
  EXPECT_EQ(back->at(1).bytes, parts[1].bytes);
  EXPECT_TRUE(DecodeTrace("")->empty());
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeTrace(bytes.substr(0, size)).has_value(), size == 8) << size;
  }
}

TEST(RecordsTest, ASleepingRunTellsWhenItWakes) {
  const SleepRecord record{.active = 3s,
                           .sleeps_since = SystemTime(5s),
                           .cell = {.bytes = "cell", .wake_at = SystemTime(9s), .tail = "tail"}};
  const auto back = DecodeSleepRecord(Encode(record));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->sleeps_since, SystemTime(5s));
  EXPECT_EQ(back->cell.wake_at, SystemTime(9s));
  EXPECT_EQ(back->cell.tail, "tail");
  EXPECT_FALSE(DecodeSleepRecord(Encode(SleepRecord{}))->cell.wake_at);
}

TEST(RecordsTest, AnswersOfEveryKindComeBack) {
  const SystemTime at = SystemTime(9us);
  const auto round = [&](ToolAnswer answer) {
    auto back = DecodeAnswerRecord(*Encode(AnswerRecord{std::move(answer), at}));
    EXPECT_EQ(back->at, at);
    return back->answer;
  };
  EXPECT_EQ(std::get<Value>(round(Value(List{{Value(1), Value(Bytes{"\xff"})}}))),
            Value(List{{Value(1), Value(Bytes{"\xff"})}}));
  EXPECT_EQ(std::get<ToolRaised>(round(ToolRaised{"E", "m"})).message, "m");
  EXPECT_EQ(std::get<ToolDenied>(round(ToolDenied{"no"})).message, "no");
}

TEST(RecordsTest, ASleepingRunComesBackWithWhatItHadSaid) {
  const SleepRecord record{
      .stdout_text = "so far\xff", .active = 3ms, .waited = 4s, .cell = {std::string(99, '\0')}};
  const auto back = DecodeSleepRecord(Encode(record));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->stdout_text, record.stdout_text);
  EXPECT_EQ(back->active, 3ms);
  EXPECT_EQ(back->waited, 4s);
  EXPECT_EQ(back->cell.bytes, record.cell.bytes);
}

TEST(RecordsTest, AnOutcomeComesBackAllButItsFilesContents) {
  Outcome outcome;
  outcome.run_id = "run_1";
  outcome.status = RunStatus::kLimit;
  outcome.reason = RunReason::kWallTime;
  outcome.stdout_text = "a\xff";
  outcome.stderr_truncated = true;
  outcome.result = Value(Dict{{{"k", 1}}});
  outcome.error = RunError{.type = "E", .message = "m", .line = 3};
  outcome.findings = {{.rule = "import", .line = 2}};
  outcome.files = {{.path = "/output/a", .change = "created", .size = 5, .contents = "12345"}};
  outcome.calls = {{.seq = 4, .tool = "send", .arguments = Dict{}, .outcome = "denied"}};
  outcome.boundary = {.engine = "wasm", .tier = "namespace", .missing = {"cgroup"}};
  outcome.usage.cpu = 5ms;
  auto back = DecodeOutcome(EncodeOutcome(outcome));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->files[0].contents, "");
  back->files[0].contents = "12345";
  EXPECT_EQ(ToJson(*back, FileData::kInclude), ToJson(outcome, FileData::kInclude));
}

TEST(RecordsTest, ASummaryIsShortWhateverTheOutcomeHas) {
  Outcome outcome{.status = RunStatus::kLimit, .reason = RunReason::kFiles};
  outcome.stdout_text = outcome.stderr_text = std::string(1'000'000, 'x');
  outcome.result = Value(std::string(1'000'000, 'r'));
  for (int i = 0; i < 5000; ++i) {
    outcome.files.push_back({.path = "/output/" + std::to_string(i) + std::string(100, 'p'),
                             .change = "created",
                             .size = 3,
                             .contents = "abc"});
  }
  const std::string summary = EncodeSummary(outcome);
  EXPECT_LT(summary.size(), 70'000u);
  const auto back = DecodeSummary(summary);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->status, RunStatus::kLimit);
  EXPECT_EQ(back->reason, RunReason::kFiles);
  ASSERT_GT(back->files.size(), 300u);
  EXPECT_EQ(back->files[300].path, outcome.files[300].path);
  EXPECT_EQ(back->files[300].size, 3u);
  EXPECT_EQ(back->files[300].contents, "");
  for (std::size_t size = 0; size < 30; ++size) {
    EXPECT_FALSE(DecodeSummary(summary.substr(0, size))) << size;
  }
  const RunEnd end = ToRunEnd(outcome);
  EXPECT_EQ(end.summary, summary);
  EXPECT_EQ(end.files.size(), 5000u);
  EXPECT_EQ(end.files[4999], "abc");
  EXPECT_EQ(DecodeOutcome(end.outcome)->files.size(), 5000u);
}

TEST(RecordsTest, TextThatIsNoRecordIsRefused) {
  const std::string good = Encode(RunRecord{.code = "1"});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeRunRecord(good.substr(0, size))) << size;
  }
  EXPECT_FALSE(DecodeAnswerRecord(good));
  EXPECT_FALSE(DecodeSleepRecord(good));
  EXPECT_FALSE(DecodeOutcome(good));
}

}  // namespace
}  // namespace caisson
