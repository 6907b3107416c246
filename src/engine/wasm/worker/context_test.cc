// The way into guest code and out of it, with a function of this test in the place of the guest.
#include "engine/wasm/worker/context.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>
#include <optional>

#include "engine/wasm/worker/host_scope.h"

namespace {

std::function<void()>* g_guest = nullptr;

}  // namespace

extern "C" {

u32 Z_pythonZ_caisson_run(Z_python_instance_t*) {
  (*g_guest)();
  return 0;
}

void caisson_stack_overflow() {
  std::abort();
}

}  // extern "C"

namespace caisson::worker {
namespace {

bool g_somebody_waits = false;
int g_questions = 0;

bool OnTick() {
  ++g_questions;
  return g_somebody_waits;
}

// The timer itself is never started: ticks come exactly where a test has them.
void Tick() {
  ::raise(SIGALRM);
}

class ContextTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    base_.emplace(*BaseFile::Open(UniqueFd(::open(CAISSON_BASE, O_RDONLY | O_CLOEXEC))));
    dirty_.emplace(*DirtyPages::Open());
    ASSERT_TRUE(SetUpWindow(&OnTick));
  }
  static void TearDownTestSuite() {
    dirty_.reset();
    base_.reset();
  }
  void SetUp() override {
    g_somebody_waits = false;
    g_questions = 0;
  }

  // A cell whose code is `guest`.
  struct TestCell {
    explicit TestCell(std::function<void()> code)
        : guest(std::move(code)), memory(*LinearMemory::Map(*base_, *dirty_)), context(memory) {
      context.Prepare();
    }
    Left Go() {
      g_guest = &guest;
      return context.Go(0);
    }
    std::function<void()> guest;
    LinearMemory memory;
    Context context;
  };

  static std::optional<BaseFile> base_;
  static std::optional<DirtyPages> dirty_;
};
std::optional<BaseFile> ContextTest::base_;
std::optional<DirtyPages> ContextTest::dirty_;

TEST_F(ContextTest, ATickDuringAHostFunctionTakesTheCellOffAtItsEnd) {
  bool in_host_code = false;
  bool after = false;
  TestCell cell([&] {
    {
      const HostScope scope;
      Tick();
      in_host_code = true;
    }
    after = true;
  });
  g_somebody_waits = true;
  EXPECT_EQ(cell.Go(), Left::kYielded);
  EXPECT_TRUE(in_host_code);  // Host code is never left half-way.
  EXPECT_FALSE(after);
  EXPECT_EQ(cell.Go(), Left::kFinished);
  EXPECT_TRUE(after);
  EXPECT_EQ(g_questions, 1);
}

TEST_F(ContextTest, ATickDuringAHostFunctionChangesNothingIfNobodyWaits) {
  TestCell cell([] {
    const HostScope scope;
    Tick();
    Tick();
  });
  EXPECT_EQ(cell.Go(), Left::kFinished);
  EXPECT_EQ(g_questions, 1);
}

TEST_F(ContextTest, ACallInSlicesIsTakenOffBetweenTwoOfThem) {
  int slices = 0;
  TestCell cell([&] {
    while (slices < 3) {
      const HostScope scope;
      if (++slices == 2) Tick();
    }
  });
  g_somebody_waits = true;
  EXPECT_EQ(cell.Go(), Left::kYielded);
  EXPECT_EQ(slices, 2);
  EXPECT_EQ(cell.Go(), Left::kFinished);
  EXPECT_EQ(slices, 3);
}

TEST_F(ContextTest, ATickInGuestCodeTakesTheCellOffAtOnce) {
  TestCell cell([] { Tick(); });
  g_somebody_waits = true;
  EXPECT_EQ(cell.Go(), Left::kPreempted);
  EXPECT_EQ(cell.Go(), Left::kFinished);
}

TEST_F(ContextTest, ATickBeforeASliceIsNotHeldAgainstIt) {
  TestCell cell([] { const HostScope scope; });
  g_somebody_waits = true;
  Tick();
  EXPECT_TRUE(TickMissed());
  EXPECT_EQ(cell.Go(), Left::kFinished);
  EXPECT_EQ(g_questions, 0);
}

TEST_F(ContextTest, CellsTakenOffInHostFunctionsKeepTheirStacks) {
  const auto count = [](std::string& seen, char name) {
    char stack[5000];
    for (int i = 0; i < 3; ++i) {
      std::fill(std::begin(stack), std::end(stack), static_cast<char>(name + i));
      {
        const HostScope scope;
        Tick();
      }
      for (char byte : stack) EXPECT_EQ(byte, name + i);
      seen += stack[4999];
    }
  };
  std::string first_seen;
  std::string second_seen;
  TestCell first([&] { count(first_seen, 'a'); });
  TestCell second([&] { count(second_seen, 'x'); });
  g_somebody_waits = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(first.Go(), Left::kYielded);
    EXPECT_EQ(second.Go(), Left::kYielded);
  }
  EXPECT_EQ(first.Go(), Left::kFinished);
  EXPECT_EQ(second.Go(), Left::kFinished);
  EXPECT_EQ(first_seen, "abc");
  EXPECT_EQ(second_seen, "xyz");
}

TEST_F(ContextTest, ACellTakenOffInAHostFunctionCanBeDropped) {
  TestCell cell([] {
    const HostScope scope;
    Tick();
  });
  g_somebody_waits = true;
  EXPECT_EQ(cell.Go(), Left::kYielded);
  cell.context.Forget();
  int runs = 0;
  cell.guest = [&] { ++runs; };
  cell.context.Prepare();
  EXPECT_EQ(cell.Go(), Left::kFinished);
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace caisson::worker
