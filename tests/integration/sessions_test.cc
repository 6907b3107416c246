// Stateful cells: one __main__ for several runs of one owner, and for no other.
#include <gtest/gtest.h>

#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

class SessionsTest : public OnEachEngine {
 protected:
  Outcome Again(Guest& guest, std::string code, Limits limits = {}) {
    guest.Start({.code = std::move(code), .limits = limits}, AfterRun::kKeep);
    return guest.End();
  }
  void TearDown() override {
    if (engine_) EXPECT_EQ(engine_->stats().workers_lost, 0u);  // Without one, it was skipped.
  }

  std::unique_ptr<Engine> engine_ = StartEngine(GetParam());
};
INSTANTIATE_ON_BOTH_ENGINES(SessionsTest);

TEST_P(SessionsTest, TheNextRunGoesOnWhereTheLastEnded) {
  Guest guest = Guest::Open(*engine_);
  Again(guest, "import math\nx = [1]\ndef f(): return len(x)\nopen('/tmp/n', 'w').write('7')");
  Again(guest, "x.append(math.pi)");
  const Outcome outcome = Again(guest, "[f(), open('/tmp/n').read()]");
  ASSERT_TRUE(outcome.result) << Ending(outcome);
  EXPECT_EQ(ResultJson(outcome), R"([2,"7"])");
}

TEST_P(SessionsTest, AnExceptionDoesNotEndTheSession) {
  Guest guest = Guest::Open(*engine_);
  Again(guest, "x = 5");
  EXPECT_EQ(Again(guest, "x += 1; 1/0").status, RunStatus::kFailed);
  EXPECT_EQ(Again(guest, "x").result, Value(6));
  EXPECT_EQ(Again(guest, "x +").status, RunStatus::kRejected);
  EXPECT_EQ(Again(guest, "x").result, Value(6));
}

TEST_P(SessionsTest, LimitsAreCountedAfreshInEachRun) {
  Guest guest = Guest::Open(*engine_);
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = Again(guest, "print('x' * 100)", {.stdout_bytes = 101});
    EXPECT_EQ(outcome.stdout_text.size(), 101u);
    EXPECT_FALSE(outcome.stdout_truncated);
  }
}

TEST_P(SessionsTest, ATimeoutEndsTheSessionWithoutATrace) {
  Guest guest = Guest::Open(*engine_);
  Again(guest, "secret = 'of ann'");
  EXPECT_EQ(Again(guest, "while True: pass", {.wall_time = std::chrono::milliseconds(50)}).reason,
            RunReason::kWallTime);
  // A new cell: the state of the old one is unknown, so it is dropped.
  EXPECT_EQ(Again(guest, "'secret' in globals()").result, Value(false));
}

TEST_P(SessionsTest, SessionsSideBySideDoNotMix) {
  Guest ann = Guest::Open(*engine_, "ann");
  Guest bob = Guest::Open(*engine_, "bob");
  Again(ann, "me = 'ann'; import builtins; builtins.leak = me; open('/tmp/me', 'w').write(me)");
  const Outcome outcome = Again(
      bob,
      "import builtins, os\n[hasattr(builtins, 'leak'), 'me' in globals(), os.listdir('/tmp')]");
  EXPECT_EQ(ResultJson(outcome), "[false,false,[]]");
  EXPECT_EQ(Again(ann, "leak").result, Value(std::string("ann")));
}

TEST_P(SessionsTest, TenRunsEachSeeAllBefore) {
  Guest guest = Guest::Open(*engine_);
  for (int i = 0; i < 10; ++i) {
    const Outcome outcome = Again(guest, "n = globals().get('n', 0) + 1; n");
    EXPECT_EQ(outcome.result, Value(i + 1));
  }
}

TEST_P(SessionsTest, AnAnswerThatNobodyTookIsNoAnswerToALaterRun) {
  Guest guest = Guest::Open(*engine_);
  // The first call is answered while the second is awaited, and its loop never runs again.
  guest.Start({.code = R"(import asyncio
loop = asyncio.new_event_loop()
async def ask(): return await tool('first')
task = loop.create_task(ask())
loop.run_until_complete(asyncio.sleep(0))
tool('second'))",
               .tools = {"tool"}},
              AfterRun::kKeep);
  const ToolCall first = guest.NextCall();
  const ToolCall second = guest.NextCall();
  EXPECT_TRUE(guest.Answer(first.seq, Value(1)));
  EXPECT_TRUE(guest.Answer(second.seq, Value(2)));
  EXPECT_EQ(guest.End().result, Value(2));
  for (const char* code : {"tool('third')", "await tool('third')"}) {
    guest.Start({.code = code, .tools = {"tool"}}, AfterRun::kKeep);
    const ToolCall third = guest.NextCall();
    EXPECT_TRUE(guest.Answer(third.seq, Value(3)));
    EXPECT_EQ(guest.End().result, Value(3)) << code;
  }
}

}  // namespace
}  // namespace caisson::testing
