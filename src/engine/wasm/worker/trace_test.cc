#include "engine/wasm/worker/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "wire/frames.h"

namespace caisson::worker {
namespace {

using enum TraceKind;

constexpr std::uint64_t kReal = 1'700'000'000'000'000'000;
constexpr std::uint64_t kMonotonic0 = 5'000'000'000;

Trace::Base Base() {
  return {kReal, kMonotonic0};
}

Trace Recording() {
  Trace trace;
  trace.Begin(Base);
  return trace;
}

std::string Part(std::uint32_t number, const std::string& bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  return std::string(reinterpret_cast<const char*>(&number), sizeof number) +
         std::string(reinterpret_cast<const char*>(&length), sizeof length) + bytes;
}

std::optional<std::uint64_t> Reading(Trace& trace, TraceKind kind) {
  const auto entry = trace.NextReading(kind);
  return entry ? std::optional(entry->value) : std::nullopt;
}

TEST(TraceTest, GivesBackWhatWasRecordedAndThenNothing) {
  Trace first = Recording();
  first.Record({kRealtime, kReal + 10});
  first.Record({kMonotonic, kMonotonic0 + 3});
  first.Record({kTimedOut});
  first.Record({kRealtime, kReal - 7});  // The clock was set back.
  first.Record({kProcessCpu, 44});
  first.Record({kAnswered, 2});
  const std::string zero = first.EndPart();
  first.Record({kMonotonic, kMonotonic0 + 9});
  const std::string one = first.EndPart();

  Trace again = Recording();
  ASSERT_TRUE(again.Replay(Part(0, zero) + Part(1, one)));
  EXPECT_EQ(Reading(again, kRealtime), kReal + 10);
  EXPECT_EQ(Reading(again, kMonotonic), kMonotonic0 + 3);
  EXPECT_EQ(again.NextWait()->kind, kTimedOut);
  EXPECT_EQ(Reading(again, kRealtime), kReal - 7);
  EXPECT_EQ(Reading(again, kProcessCpu), 44u);
  const auto answered = again.NextWait();
  EXPECT_EQ(answered->kind, kAnswered);
  EXPECT_EQ(answered->value, 2u);
  EXPECT_FALSE(Reading(again, kRealtime));
  again.EndPart();
  EXPECT_EQ(Reading(again, kMonotonic), kMonotonic0 + 9);
  EXPECT_EQ(again.replayed_base().real_ns, kReal);
  again.EndPart();
  EXPECT_FALSE(Reading(again, kMonotonic));
}

TEST(TraceTest, ABuildThatReadsMoreOrLessIsInStepAgainAtTheNextCall) {
  Trace first = Recording();
  for (std::uint64_t i = 0; i < 5; ++i) first.Record({kRealtime, kReal + i});
  const std::string zero = first.EndPart();
  first.Record({kRealtime, kReal + 100});
  const std::string one = first.EndPart();
  first.Record({kRealtime, kReal + 200});
  const std::string two = first.EndPart();

  Trace again = Recording();
  ASSERT_TRUE(again.Replay(Part(0, zero) + Part(1, one) + Part(2, two)));
  EXPECT_EQ(Reading(again, kRealtime), kReal);  // Fewer readings,
  again.EndPart();
  EXPECT_EQ(Reading(again, kRealtime), kReal + 100);
  EXPECT_FALSE(Reading(again, kRealtime));  // and more.
  again.EndPart();
  EXPECT_EQ(Reading(again, kRealtime), kReal + 200);
}

TEST(TraceTest, APartThatIsMissingIsNotReplacedByAnother) {
  Trace first = Recording();
  first.EndPart();
  first.Record({kRealtime, kReal + 1});
  const std::string one = first.EndPart();
  Trace again = Recording();
  ASSERT_TRUE(again.Replay(Part(1, one)));
  EXPECT_FALSE(Reading(again, kRealtime));
  again.EndPart();
  EXPECT_EQ(Reading(again, kRealtime), kReal + 1);
}

// Replayed values are recorded again, so that the run can be replayed once more.
TEST(TraceTest, AReplayRecordsTheSame) {
  Trace first = Recording();
  first.Record({kRealtime, kReal + 10});
  first.Record({kMonotonic, kMonotonic0 + 30});
  const std::string part = first.EndPart();
  Trace again;
  again.Begin([] { return Trace::Base{1, 2}; });  // On another machine, later.
  ASSERT_TRUE(again.Replay(Part(0, part)));
  again.Record(*again.NextReading(kRealtime));
  again.Record(*again.NextReading(kMonotonic));
  EXPECT_EQ(again.EndPart(), part);
}

TEST(TraceTest, ARestoredRunGoesOnBehindWhatItHadRecorded) {
  Trace first = Recording();
  first.EndPart();
  first.Record({kRealtime, kReal + 10});
  first.Record({kMonotonic, kMonotonic0 + 30});
  const std::string saved = first.part();
  const std::uint64_t bytes = first.bytes();
  first.Record({kMonotonic, kMonotonic0 + 40});
  first.Record({kRealtime, kReal + 20});
  const std::string whole = first.EndPart();

  Trace again;
  again.Continue(Base, 1, saved, bytes);
  ASSERT_TRUE(again.Replay(Part(1, whole)));
  EXPECT_EQ(Reading(again, kRealtime), kReal + 20);
  EXPECT_EQ(Reading(again, kMonotonic), kMonotonic0 + 40);
  EXPECT_FALSE(Reading(again, kMonotonic));
  again.Record({kMonotonic, kMonotonic0 + 40});
  again.Record({kRealtime, kReal + 20});
  EXPECT_EQ(again.EndPart(), whole);
}

TEST(TraceTest, AnUnfinishedPartTellsUntilWhenTheRunSleeps) {
  const Trace first = Recording();
  const std::string tail = first.Unfinished(kReal + 3'600'000'000'000);
  EXPECT_EQ(first.part(), "");
  Trace again = Recording();
  ASSERT_TRUE(again.Replay(Part(0, tail)));
  const auto sleeps = again.NextWait();
  EXPECT_EQ(sleeps->kind, kSleepsUntil);
  EXPECT_EQ(sleeps->value, kReal + 3'600'000'000'000);
  EXPECT_EQ(Recording().Unfinished(std::nullopt), "");
}

TEST(TraceTest, ReadingsAreSmall) {
  Trace trace = Recording();
  for (std::uint64_t i = 1; i <= 1000; ++i) trace.Record({kMonotonic, kMonotonic0 + i * 700});
  EXPECT_LT(trace.bytes(), 2'700u);
}

TEST(TraceTest, ATraceThatIsTooLongIsCutAndTheNextSaveBeginsAnew) {
  Trace trace = Recording();
  std::uint64_t now = kReal;
  while (trace.bytes() <= wire::kMaxTraceBytes) trace.Record({kRealtime, now += 1000});
  const std::string cut(1, static_cast<char>(wire::kTraceCut));
  trace.Record({kRealtime, now});
  EXPECT_EQ(trace.Unfinished(now), cut);
  EXPECT_EQ(trace.EndPart(), cut);
  EXPECT_EQ(trace.EndPart(), cut);

  trace.Renew();
  trace.Record({kRealtime, now += 5});
  const std::string saved = trace.part();
  EXPECT_EQ(saved.front(), cut.front());
  trace.Record({kRealtime, now += 5});
  const std::string whole = trace.EndPart();
  Trace again;
  again.Continue(Base, 2, saved, saved.size());
  ASSERT_TRUE(again.Replay(Part(2, whole)));
  EXPECT_EQ(Reading(again, kRealtime), now);
  // It was cut again after it was saved: there is nothing to replay.
  Trace lost;
  lost.Continue(Base, 2, saved, saved.size());
  ASSERT_TRUE(lost.Replay(Part(2, cut)));
  EXPECT_FALSE(Reading(lost, kRealtime));
}

TEST(TraceTest, DamagedPartsAreRefusedOrGiveSomethingAndEnd) {
  EXPECT_FALSE(Recording().Replay("short"));
  EXPECT_FALSE(Recording().Replay(Part(0, "abc").substr(0, 10)));
  EXPECT_FALSE(Recording().Replay(Part(1, "") + Part(1, "")));
  EXPECT_FALSE(Recording().Replay(Part(1, "") + Part(0, "")));
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    Trace trace;
    trace.Continue(Base, 0, bytes.substr(0, random() % 30), 0);
    ASSERT_TRUE(trace.Replay(Part(0, bytes)));
    for (int n = 0; trace.NextReading(kRealtime); ++n) ASSERT_LT(n, 60);
    for (int n = 0; trace.NextWait(); ++n) ASSERT_LT(n, 60);
  }
}

// No guest and no clock can cause an entry that cannot be read.
TEST(TraceTest, AnyValueCanBeRecorded) {
  Trace first = Recording();
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t value : {std::uint64_t{0}, most, most / 2, std::uint64_t{1}}) {
    first.Record({kThreadCpu, value});
  }
  Trace again = Recording();
  ASSERT_TRUE(again.Replay(Part(0, first.EndPart())));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Reading(again, kThreadCpu));
  EXPECT_FALSE(Reading(again, kThreadCpu));
}

}  // namespace
}  // namespace caisson::worker
