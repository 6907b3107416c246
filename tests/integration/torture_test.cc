// A program that calls the host from every place in Python prints the same whether it is not
// interrupted, moves to another process at every call, or is run by the system's python3.
#include <gtest/gtest.h>
#include <stdio.h>

#include <fstream>
#include <sstream>

#include "engine/seal.h"
#include "tests/integration/census.h"
#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

Limits Generous() {
  Limits limits;
  limits.wall_time = limits.cpu_time = std::chrono::seconds(280);
  return limits;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

RunRequest Torture() {
  return {.code = ReadFile(CAISSON_TORTURE_DIR "/torture.py"),
          .limits = Generous(),
          .tools = {"answer"}};
}

// The answer of python_host.py.
ToolAnswer AnswerTo(const ToolCall& call) {
  const auto* text = call.positional.items.at(0).If<std::string>();
  std::int64_t sum = 0;
  for (const char c : *text) sum += static_cast<unsigned char>(c);
  return Value(sum * 31 % 97);
}

std::string PrintedByPython() {
  const std::string command = std::string(CAISSON_PYTHON) + " -I " CAISSON_TORTURE_DIR
                                                            "/python_host.py " CAISSON_TORTURE_DIR
                                                            "/torture.py";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t got = ::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), got);
  }
  EXPECT_EQ(::pclose(pipe), 0);
  return text;
}

// Seals it for its owner, run and call, and opens it again.
SavedCell SealedAndBack(const SavedCell& saved, const WasmEngine& engine, std::uint32_t seq) {
  static const SealKey key = SealKey::Random();
  const WorkerBuild build = *engine.build();
  const SealBinding binding{.owner = OwnerId("ann"),
                            .run = "run_torture",
                            .call_seq = seq,
                            .build_id = build.build_id,
                            .base_hash = build.base_hash};
  auto sealed = Seal(key, binding, saved);
  EXPECT_TRUE(sealed);
  auto opened = Unseal(key, binding, *sealed);
  EXPECT_TRUE(opened);
  return *std::move(opened);
}

using TortureTest = OnEachEngine;
INSTANTIATE_ON_BOTH_ENGINES(TortureTest);

TEST_P(TortureTest, UninterruptedItPrintsWhatPythonPrints) {
  auto engine = StartEngine(GetParam());
  Guest guest = Guest::Open(*engine);
  guest.Start(Torture());
  const Outcome outcome = guest.Serve(AnswerTo);
  EXPECT_EQ(outcome.status, RunStatus::kCompleted) << Ending(outcome);
  EXPECT_EQ(outcome.stderr_text, "");
  EXPECT_GT(outcome.calls.size(), 250u);
  EXPECT_EQ(outcome.stdout_text, PrintedByPython());
}

TEST(MovingTortureTest, MovedToANewProcessAtEveryCallItPrintsTheSame) {
  auto engine = StartWasm();
  auto guest = std::make_unique<Guest>(Guest::Open(*engine));
  guest->Start(Torture());
  std::string printed;
  std::size_t hops = 0;
  std::size_t largest = 0;
  std::vector<ToolCall> open;  // Calls that were saved without an answer.
  while (auto call = guest->NextCallOrEnd()) {
    open.push_back(*std::move(call));
    const auto previous = TakeCensus().processes;
    auto saved = guest->Save(AfterSave::kDiscard);
    ASSERT_TRUE(saved) << saved.error().message();
    const Outcome parked = guest->End();
    ASSERT_EQ(parked.status, RunStatus::kWaiting) << Ending(parked);
    printed += parked.stdout_text;
    largest = std::max(largest, saved->bytes.size());
    // Calls that the host received between the last one and the save (gathered ones).
    while (auto more = guest->NextCallOrEnd()) open.push_back(*std::move(more));
    guest.reset();
    engine = StartWasm();  // The old workers end before the new one exists.
    auto restored =
        Guest::Restore(*engine, SealedAndBack(*saved, *engine, open.back().seq), Generous());
    ASSERT_TRUE(restored) << restored.error().message();
    for (pid_t process : TakeCensus().processes) {
      ASSERT_FALSE(std::ranges::binary_search(previous, process)) << "not a new process";
    }
    guest = std::make_unique<Guest>(*std::move(restored));
    guest->Continue();
    for (const ToolCall& one : std::exchange(open, {})) {
      ASSERT_TRUE(guest->Answer(one.seq, AnswerTo(one)));
    }
    ++hops;
  }
  const Outcome outcome = guest->End();
  EXPECT_EQ(outcome.status, RunStatus::kCompleted) << Ending(outcome);
  printed += outcome.stdout_text;
  EXPECT_EQ(printed, PrintedByPython());
  EXPECT_GT(hops, 250u);
  RecordProperty("hops", static_cast<int>(hops));
  RecordProperty("largest_blob_bytes", static_cast<int>(largest));
}

}  // namespace
}  // namespace caisson::testing
