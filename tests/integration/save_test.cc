// Saved cells: they continue elsewhere from the same state, branch, and are refused if they are
// invalid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "engine/seal.h"
#include "tests/integration/census.h"
#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class SaveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!here_) here_ = StartWasm();
    if (!there_) there_ = StartWasm();
  }
  static void TearDownTestSuite() {
    here_.reset();
    there_.reset();
  }

  // Runs `code` up to its first call, and saves it there.
  SavedCell SaveAtCall(std::string code, RunRequest request = {}) {
    Guest guest = Guest::Open(*here_);
    request.code = std::move(code);
    request.tools = {"tool"};
    guest.Start(std::move(request));
    guest.NextCall();
    auto saved = guest.Save(AfterSave::kDiscard);
    EXPECT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(guest.End().status, RunStatus::kWaiting);
    return saved ? *std::move(saved) : SavedCell{};
  }
  Outcome GoOn(const SavedCell& saved, Value answer, Limits limits = {}) {
    auto guest = Guest::Restore(*there_, saved, limits);
    EXPECT_TRUE(guest) << guest.error().message();
    if (!guest) return {};
    guest->Continue();
    EXPECT_TRUE(guest->Answer(0, std::move(answer)));
    return guest->Serve([](const ToolCall&) { return Value(); });
  }

  static std::unique_ptr<WasmEngine> here_;
  static std::unique_ptr<WasmEngine> there_;
};
std::unique_ptr<WasmEngine> SaveTest::here_;
std::unique_ptr<WasmEngine> SaveTest::there_;

TEST_F(SaveTest, ARestoredCellGoesOnWhereItWas) {
  const SavedCell saved = SaveAtCall("x = [1, 2]\nprint('before')\nx.append(tool(len(x)))\nx");
  EXPECT_LT(saved.bytes.size(), 64u << 10);
  const Outcome outcome = GoOn(saved, Value(3));
  EXPECT_EQ(ResultJson(outcome), "[1,2,3]");
  EXPECT_EQ(outcome.stdout_text, "");  // Earlier output was delivered before.
}

TEST_F(SaveTest, OneSavedCellBranches) {
  const SavedCell saved = SaveAtCall(
      "import random\nr = random.Random(1)\na = r.random()\n"
      "b = tool()\n[a, b, r.random(), 'more' if b > 5 else 'less']");
  auto first = Guest::Restore(*there_, saved);
  auto second = Guest::Restore(*there_, saved);
  auto third = Guest::Restore(*here_, saved);
  ASSERT_TRUE(first && second && third);
  std::vector<std::string> results;
  for (auto& [guest, answer] : {std::pair{&*first, 9}, {&*second, 1}, {&*third, 9}}) {
    guest->Continue();
    ASSERT_TRUE(guest->Answer(0, Value(answer)));
    results.push_back(ResultJson(guest->End()));
  }
  EXPECT_EQ(results[0], results[2]);
  EXPECT_THAT(results[0], HasSubstr("more"));
  EXPECT_THAT(results[1], HasSubstr("less"));
}

TEST_F(SaveTest, AKeptCellGoesOnBesideItsCopy) {
  Guest guest = Guest::Open(*here_);
  guest.Start({.code = "x = ['mine']\nx.append(tool())\nx", .tools = {"tool"}});
  guest.NextCall();
  auto saved = guest.Save(AfterSave::kKeep);
  ASSERT_TRUE(saved) << saved.error().message();
  EXPECT_EQ(ResultJson(GoOn(*saved, Value(2))), R"(["mine",2])");
  ASSERT_TRUE(guest.Answer(0, Value(1)));
  EXPECT_EQ(ResultJson(guest.End()), R"(["mine",1])");
}

TEST_F(SaveTest, GrownMemoryComesAlong) {
  const SavedCell saved = SaveAtCall(
      "b = bytearray(40 << 20)\nfor i in range(0, len(b), 1 << 20): b[i] = i >> 20\n"
      "n = tool()\n[n, len(b), sum(b[::1 << 20]), b.count(0), b[7 << 20]]");
  EXPECT_EQ(ResultJson(GoOn(saved, Value(5))), "[5,41943040,780,41943001,7]");
}

TEST_F(SaveTest, OpenFilesAndInputComeAlong) {
  const auto input = std::make_shared<const std::string>("line 1\nline 2\n");
  const SavedCell saved = SaveAtCall(
      "i = open('/input/i'); one = i.readline()\n"
      "o = open('/output/o', 'w'); o.write('unflushed '); t = open('/tmp/t', 'w+'); t.write('x')\n"
      "tool()\no.write('and on'); o.close(); t.seek(0)\n[one, i.readline(), t.read()]",
      {.code = {}, .files = {{.path = "/input/i", .contents = input}}});
  const Outcome outcome = GoOn(saved, Value());
  ASSERT_TRUE(outcome.result) << Ending(outcome);
  EXPECT_EQ(ResultJson(outcome), R"(["line 1\n","line 2\n","x"])");
  ASSERT_EQ(outcome.files.size(), 1u);
  EXPECT_EQ(outcome.files[0].contents, "unflushed and on");
}

TEST_F(SaveTest, AnIdleSessionIsRestoredForItsNextRun) {
  SavedCell saved;
  {
    Guest guest = Guest::Open(*here_);
    guest.Start({.code = "x = {'k': [1]}\ndef f(): return x"}, AfterRun::kKeep);
    EXPECT_EQ(guest.End().status, RunStatus::kCompleted);
    auto bytes = guest.Save(AfterSave::kDiscard);
    ASSERT_TRUE(bytes) << bytes.error().message();
    saved = *std::move(bytes);
  }
  auto guest = Guest::Restore(*there_, saved);
  ASSERT_TRUE(guest) << guest.error().message();
  guest->Start({.code = "x['k'].append(2)\nf()"}, AfterRun::kKeep);
  EXPECT_EQ(ResultJson(guest->End()), R"({"k":[1,2]})");
  guest->Start({.code = "len(f()['k'])"});
  EXPECT_EQ(guest->End().result, Value(2));
}

TEST_F(SaveTest, TheRestOfASleepIsSleptElsewhere) {
  const SavedCell saved = SaveAtCall(
      "import asyncio, time\nasync def main():\n"
      "  task = asyncio.create_task(call())\n  await asyncio.sleep(0.5)\n  return 'slept', await "
      "task\n"
      "async def call(): return await tool()\nawait main()");
  auto guest = Guest::Restore(*there_, saved);
  ASSERT_TRUE(guest) << guest.error().message();
  guest->Continue();
  ASSERT_TRUE(guest->Answer(0, Value(1)));
  const Outcome outcome = guest->End();
  ASSERT_TRUE(outcome.result) << Ending(outcome);
  EXPECT_EQ(ResultJson(outcome), R"(["slept",1])");
}

TEST_F(SaveTest, ATimeoutThatPassesBeforeTheAnswerIsATimeout) {
  const SavedCell saved = SaveAtCall(
      "import asyncio\ntry: r = await asyncio.wait_for(tool(), 0.2)\n"
      "except TimeoutError: r = 'late'\nr");
  auto guest = Guest::Restore(*there_, saved);
  ASSERT_TRUE(guest) << guest.error().message();
  guest->Continue();
  EXPECT_EQ(guest->End().result, Value(std::string("late")));
}

TEST_F(SaveTest, AnswersGivenBeforeTheSaveAreNotLost) {
  Guest guest = Guest::Open(*here_);
  guest.Start({.code = "import asyncio\nawait asyncio.gather(tool('a'), tool('b'), tool('c'))",
               .tools = {"tool"}});
  for (int i = 0; i < 3; ++i) guest.NextCall();
  ASSERT_TRUE(guest.Answer(1, Value(11)));
  auto saved = guest.Save(AfterSave::kDiscard);
  ASSERT_TRUE(saved) << saved.error().message();
  auto restored = Guest::Restore(*there_, *saved);
  ASSERT_TRUE(restored) << restored.error().message();
  restored->Continue();
  EXPECT_FALSE(restored->Answer(1, Value(0)));
  ASSERT_TRUE(restored->Answer(2, Value(12)));
  ASSERT_TRUE(restored->Answer(0, Value(10)));
  EXPECT_EQ(ResultJson(restored->End()), "[10,11,12]");
}

double Unix(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}
double Number(const Outcome& outcome, std::size_t index) {
  const auto* list = outcome.result ? outcome.result->If<List>() : nullptr;
  const double* number = list == nullptr ? nullptr : list->items.at(index).If<double>();
  EXPECT_TRUE(number != nullptr) << Ending(outcome);
  return number == nullptr ? 0 : *number;
}

TEST_F(SaveTest, ARecordedRunHasTheRealTimeAndSleepsForReal) {
  const RunRequest request{
      .code =
          "import time\nm, p, t = time.monotonic(), time.perf_counter(), time.time()\n"
          "time.sleep(0.2)\n"
          "[t, time.time(), time.monotonic() - m, time.perf_counter() - p]",
      .recording = Recording{.seed = std::string(32, 's')}};
  const double before = Unix(std::chrono::system_clock::now());
  const Outcome outcome = RunRequested(*here_, request);
  const double after = Unix(std::chrono::system_clock::now());
  EXPECT_GE(Number(outcome, 0), before - 0.001);
  EXPECT_GE(Number(outcome, 1), before + 0.199);
  EXPECT_LE(Number(outcome, 1), after + 0.001);
  EXPECT_GE(Number(outcome, 2), 0.199);
  EXPECT_GE(Number(outcome, 3), 0.199);
  EXPECT_LE(Number(outcome, 2), after - before);
}

TEST_F(SaveTest, TimeOutsOfARecordedRunTakeTheirTime) {
  const RunRequest request{.code =
                               "import asyncio, time\nb = time.monotonic()\n"
                               "try: await asyncio.wait_for(asyncio.sleep(60), 0.2)\n"
                               "except TimeoutError: a = time.monotonic()\n"
                               "await asyncio.sleep(0.2)\n[a - b, time.monotonic() - a]",
                           .recording = Recording{.seed = std::string(32, 's')}};
  const Outcome outcome = RunRequested(*here_, request);
  EXPECT_GE(Number(outcome, 0), 0.199);
  EXPECT_GE(Number(outcome, 1), 0.199);
  EXPECT_LT(outcome.usage.wall, 30s);
}

// As on a machine that is switched off for a while: no clock goes back, and the time that passed
// counts.
TEST_F(SaveTest, ClocksGoOnAfterARestore) {
  const RunRequest request{.code = {}, .recording = Recording{.seed = std::string(32, 'v')}};
  const SavedCell saved = SaveAtCall(
      "import os, time\na = [os.urandom(4), time.time(), time.monotonic()]\ntool()\n"
      "[time.time() - a[1], time.monotonic() - a[2], time.time(), a[0] != os.urandom(4)]",
      request);
  const auto long_ago = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < long_ago) std::this_thread::yield();
  const Outcome outcome = GoOn(saved, Value());
  EXPECT_GE(Number(outcome, 0), 0.3);
  EXPECT_GE(Number(outcome, 1), 0.3);
  EXPECT_NEAR(Number(outcome, 2), Unix(std::chrono::system_clock::now()), 30);
}

TEST_F(SaveTest, ASleepingRunIsSavedAndWakesElsewhereAtItsTime) {
  Guest guest = Guest::Open(*here_);
  const auto begin = std::chrono::steady_clock::now();
  guest.Start({.code = "import time\ntime.sleep(1.5)\n'slept'",
               .recording = Recording{.seed = std::string(32, 'v')}});
  const auto until = guest.WaitForSleep();
  const auto saved = guest.Save(AfterSave::kDiscard);
  ASSERT_TRUE(saved) << saved.error().message();
  ASSERT_TRUE(saved->wake_at);
  EXPECT_LT(*saved->wake_at - until, 1s);
  auto restored = Guest::Restore(*there_, *saved);
  ASSERT_TRUE(restored) << restored.error().message();
  restored->Continue();
  EXPECT_EQ(restored->End().result, Value(std::string("slept")));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1499ms);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
}

TEST_F(SaveTest, ASleepThatIsOverWhenTheRunIsRestoredTakesNoMoreTime) {
  Guest guest = Guest::Open(*here_);
  guest.Start({.code = "import asyncio\nawait asyncio.sleep(1.2)\n'slept'",
               .recording = Recording{.seed = std::string(32, 'v')}});
  const auto until = guest.WaitForSleep();
  const auto saved = guest.Save(AfterSave::kDiscard);
  ASSERT_TRUE(saved) << saved.error().message();
  while (std::chrono::system_clock::now() < until) std::this_thread::yield();
  auto restored = Guest::Restore(*there_, *saved);
  ASSERT_TRUE(restored) << restored.error().message();
  restored->Continue();
  const Outcome outcome = restored->End();
  EXPECT_EQ(outcome.result, Value(std::string("slept"))) << Ending(outcome);
}

TEST_F(SaveTest, BudgetsGoOnAndAreNeverLooserThanTheHosts) {
  const SavedCell saved = SaveAtCall(
      "print('x' * 99)\ntool()\nprint('y' * 99)\n"
      "for i in range(3): tool(i)");
  const Outcome shown = GoOn(saved, Value(), {.stdout_bytes = 150});
  EXPECT_EQ(shown.stdout_text.size(), 50u);
  EXPECT_TRUE(shown.stdout_truncated);
  EXPECT_EQ(GoOn(saved, Value(), {.tool_calls = 3}).reason, RunReason::kToolCalls);
}

TEST_F(SaveTest, ACellThatComputesIsNotSaved) {
  Guest guest = Guest::Open(*here_);
  guest.Start({.code = "print('on')\nwhile True: pass"});
  guest.WaitForOutput("on");
  const auto saved = guest.TrySave(AfterSave::kKeep);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), ErrorCode::kFailedPrecondition);
  guest.Cancel();
  EXPECT_EQ(guest.End().status, RunStatus::kCancelled);
}

TEST_F(SaveTest, ARestoredCellSharesNoWorkerWithAnotherOwner) {
  auto engine = StartWasm();
  const auto main = TakeCensus().processes.size();
  const SavedCell saved = SaveAtCall("tool()");
  auto ann = Guest::Restore(*engine, saved, {}, "ann");
  EXPECT_EQ(TakeCensus().processes.size(), main + 1);
  auto bob = Guest::Restore(*engine, saved, {}, "bob");
  EXPECT_EQ(TakeCensus().processes.size(), main + 2);
  auto again = Guest::Restore(*engine, saved, {}, "ann");
  EXPECT_EQ(TakeCensus().processes.size(), main + 2);
  EXPECT_TRUE(ann && bob && again);
}

TEST_F(SaveTest, AnotherBuildsCellIsRefusedWithThatReason) {
  SavedCell saved = SaveAtCall("tool()");
  saved.bytes[10] = static_cast<char>(saved.bytes[10] ^ 1);  // In the build id.
  const auto guest = Guest::Restore(*there_, saved);
  ASSERT_FALSE(guest);
  EXPECT_EQ(guest.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(guest.error().message(), HasSubstr("another build"));
}

TEST_F(SaveTest, AChangedSealedCellNeverReachesAWorker) {
  const SavedCell saved = SaveAtCall("tool()");
  const SealKey key = SealKey::Random();
  SealBinding binding{.owner = OwnerId("ann"), .run = "run_1", .call_seq = 0};
  binding.build_id = here_->build()->build_id;
  binding.base_hash = here_->build()->base_hash;
  const auto sealed = Seal(key, binding, saved);
  ASSERT_TRUE(sealed);
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string changed = *sealed;
    const std::size_t at = random() % changed.size();
    changed[at] = static_cast<char>(changed[at] ^ (1 << random() % 8));
    EXPECT_FALSE(Unseal(key, binding, changed)) << at;
  }
  SealBinding bob = binding;
  bob.owner = OwnerId("bob");
  EXPECT_FALSE(Unseal(key, bob, *sealed));
  SealBinding later = binding;
  later.build_id[0] = static_cast<std::uint8_t>(later.build_id[0] + 1);
  const auto other = Unseal(key, later, *sealed);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::kFailedPrecondition);
}

// Data that the seal normally keeps out: the second check holds, and no other cell is affected.
TEST_F(SaveTest, ADamagedCellHarmsNobodyElse) {
  auto engine = StartWasm();
  const SavedCell saved = SaveAtCall("x = 'secret'\ntool()\nx");
  Guest bystander = Guest::Open(*engine, "bob");
  bystander.Start({.code = "'fine' + tool()", .limits = {.wall_time = 200s}, .tools = {"tool"}});
  bystander.NextCall();
  std::mt19937 random(5);
  int refused = 0;
  int ended = 0;
  for (int i = 0; i < 150; ++i) {
    SavedCell damaged = saved;
    for (int flips = 1 + i % 3; flips > 0; --flips) {
      const std::size_t at = 60 + random() % (damaged.bytes.size() - 60);
      damaged.bytes[at] = static_cast<char>(random());
    }
    if (i % 10 == 0) damaged.bytes.resize(random() % damaged.bytes.size());
    auto guest = Guest::Restore(*engine, damaged, {.wall_time = 300ms, .cpu_time = 300ms}, "ann");
    if (!guest) {
      ++refused;
      continue;
    }
    guest->Continue();
    static_cast<void>(guest->Answer(0, Value(1)));
    static_cast<void>(guest->EndOrError());
    ++ended;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(ended, 0);
  ASSERT_TRUE(bystander.Answer(0, Value(std::string("!"))));
  EXPECT_EQ(bystander.End().result, Value(std::string("fine!")));
  EXPECT_EQ(RunCode(*engine, "1").result, Value(1));
}

// The trace of a recorded run, call by call.
std::vector<TracePart> PartsOf(const std::vector<ToolCall>& calls) {
  std::vector<TracePart> parts;
  for (const ToolCall& call : calls) parts.push_back({call.seq, call.trace});
  return parts;
}

TEST_F(SaveTest, AReplayIsToldWhatWasRecordedAndThenTheRealTime) {
  RunRequest request{
      .code =
          "import asyncio, random, os, time, uuid\n"
          "t = time.time(); time.sleep(0.3); told = [t, time.time(), time.perf_counter()]\n"
          "try: await asyncio.wait_for(tool('slow'), 0.2)\n"
          "except TimeoutError: told.append('late')\n"
          "tool(told + [random.random(), os.urandom(4).hex(), str(uuid.uuid4()), "
          "time.monotonic()])\n"
          "m = time.monotonic()\n"
          "[time.time(), m >= told[2]]",
      .tools = {"tool"},
      .recording = Recording{.seed = std::string(32, 's')}};
  const auto play = [&] {
    std::vector<ToolCall> calls;
    Guest guest = Guest::Open(*here_);
    guest.Start(request);
    calls.push_back(guest.NextCall());
    calls.push_back(guest.NextCall());
    EXPECT_TRUE(guest.Answer(1, Value()));
    const Outcome outcome = guest.End();
    EXPECT_TRUE(outcome.result) << Ending(outcome);
    return std::pair(std::move(calls), outcome);
  };
  const auto [first, stayed] = play();
  request.recording->replay = PartsOf(first);
  request.recording->must_repeat = true;
  const double before = Unix(std::chrono::system_clock::now());
  const auto [again, replayed] = play();
  EXPECT_EQ(first.at(1).positional, again.at(1).positional);
  EXPECT_EQ(first.at(1).trace, again.at(1).trace);
  EXPECT_LT(replayed.usage.wall, 400ms);  // Sleeps and timeouts that have passed take no time.
  EXPECT_GE(Number(replayed, 0), before - 0.001);
  EXPECT_EQ(replayed.result->If<List>()->items.at(1), Value(true));
  // Without the recording the time differs.
  request.recording->replay.clear();
  EXPECT_NE(first.at(1).positional, play().first.at(1).positional);
}

TEST_F(SaveTest, ARestoredRunIsToldAgainWhatItWasToldAfterItWasSaved) {
  Guest guest = Guest::Open(*here_);
  guest.Start({.code = "import time\ntool(time.time())\ntool(time.time())",
               .tools = {"tool"},
               .recording = Recording{.seed = std::string(32, 's')}});
  guest.NextCall();
  auto saved = guest.Save(AfterSave::kKeep);
  ASSERT_TRUE(saved) << saved.error().message();
  ASSERT_TRUE(guest.Answer(0, Value()));
  const ToolCall first = guest.NextCall();
  saved->replay = PartsOf({first});
  auto restored = Guest::Restore(*there_, *saved);
  ASSERT_TRUE(restored) << restored.error().message();
  restored->Continue();
  ASSERT_TRUE(restored->Answer(0, Value()));
  EXPECT_EQ(restored->NextCall().positional, first.positional);
}

TEST_F(SaveTest, AReplayOfASleepWakesAtItsTime) {
  RunRequest request{.code = "import time\ntime.sleep(1.4)\ntime.time()",
                     .recording = Recording{.seed = std::string(32, 's')}};
  SavedCell saved;
  {
    Guest guest = Guest::Open(*here_);
    guest.Start(request);
    guest.WaitForSleep();
    auto bytes = guest.Save(AfterSave::kDiscard);
    ASSERT_TRUE(bytes) << bytes.error().message();
    saved = *std::move(bytes);
  }
  request.recording->replay = {{0, saved.tail}};
  const Outcome outcome = RunRequested(*there_, request);
  ASSERT_TRUE(outcome.result) << Ending(outcome);
  EXPECT_GE(*outcome.result->If<double>(), Unix(*saved.wake_at) - 0.001);
  EXPECT_LT(*outcome.result->If<double>(), Unix(*saved.wake_at) + 1);
}

TEST_F(SaveTest, ARunThatReadsItsClocksTooOftenIsCutAndGoesOn) {
  Guest guest = Guest::Open(*here_);
  guest.Start({.code = "import time\nfor i in range(300_000): t = time.time()\ntool(t)\n'done'",
               .tools = {"tool"},
               .recording = Recording{.seed = std::string(32, 's')}});
  const ToolCall call = guest.NextCall();
  EXPECT_TRUE(IsCut(call.trace));
  auto saved = guest.Save(AfterSave::kDiscard);
  ASSERT_TRUE(saved) << saved.error().message();
  EXPECT_TRUE(IsCut(saved->tail));
  EXPECT_EQ(GoOn(*saved, Value()).result, Value(std::string("done")));
}

}  // namespace
}  // namespace caisson::testing
