// Entering and leaving guest code, with a function of this test as the guest.
#include "engine/wasm/worker/context.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <functional>
#include <optional>

#include "engine/wasm/worker/host_scope.h"
#include "jail/filter.h"

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

// The timer itself is never started: ticks come exactly where a test causes them.
void Tick() {
  ::raise(SIGALRM);
}

class ContextTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    base_.emplace(*BaseFile::Open(UniqueFd(::open(CAISSON_BASE, O_RDONLY | O_CLOEXEC))));
    dirty_.emplace(*DirtyPages::Open());
    static const bool window = SetUpWindow(&OnTick).has_value();  // One per process.
    ASSERT_TRUE(window);
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
  EXPECT_TRUE(in_host_code);  // Host code is never interrupted half-way.
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

// ---- Faults that end the worker ----

// With the worker's filter, as in production. Each test's worker is a separate process.
class FaultTest : public ContextTest {
 protected:
  static void LoadFilter() {
    const auto filter = jail::Filter::Compile(jail::WorkerSyscalls({.writable = {STDERR_FILENO}}));
    // An ordinary user may load a filter only then.
    const bool may_load = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    if (!may_load || !filter || !filter->Load()) ::_exit(EXIT_FAILURE);
  }
  // Runs it as a guest, or as one of its host functions.
  static void Fault(std::function<void()> fault, bool in_host_code) {
    TestCell cell([&] {
      if (!in_host_code) return fault();
      const HostScope scope;
      fault();
    });
    LoadFilter();
    cell.Go();
  }
};

volatile std::uint64_t g_address = 0;
volatile int g_zero = 0;
volatile int g_seven = 7;

void WriteAtAddress() {
  *reinterpret_cast<volatile char*>(g_address) = 1;
}

TEST_F(FaultTest, ANullPointerInHostCodeIsToldAsSuch) {
  g_address = 16;
  EXPECT_EXIT(Fault(WriteAtAddress, true), ::testing::KilledBySignal(SIGSEGV),
              "SIGSEGV in host code, instruction 0x[0-9a-f]+: a null pointer");
}

TEST_F(FaultTest, AnAddressThatIsNotTheGuestsEndsTheWorker) {
  g_address = 0x2222'0000'0000;
  EXPECT_EXIT(Fault(WriteAtAddress, false), ::testing::KilledBySignal(SIGSEGV),
              "SIGSEGV in guest code, instruction 0x[0-9a-f]+: an address that is not the guest's");
}

TEST_F(FaultTest, TheWorkersOwnCodeIsNamed) {
  g_address = reinterpret_cast<std::uint64_t>(&caisson_leave);
  EXPECT_EXIT(Fault(WriteAtAddress, false), ::testing::KilledBySignal(SIGSEGV),
              "in guest code.*: the worker's own code or data");
}

TEST_F(FaultTest, AnAddressThatNoProgramCanHaveIsTold) {
  g_address = 0x8000'0000'0000'0000;
  EXPECT_EXIT(Fault(WriteAtAddress, false), ::testing::KilledBySignal(SIGSEGV),
              "an address that no program can have");
}

TEST_F(FaultTest, HostCodeOutsideOfTheCellsMemoryIsTold) {
  TestCell other([] {});
  EXPECT_EXIT(Fault(
                  [] {
                    g_address = reinterpret_cast<std::uint64_t>(
                        Context::current()->memory().data() + (std::uint64_t{7} << 30));
                    WriteAtAddress();
                  },
                  true),
              ::testing::KilledBySignal(SIGSEGV),
              "in host code.*: the memory of the cell that runs");
}

TEST_F(FaultTest, OtherFaultsKeepTheirSignal) {
  EXPECT_EXIT(Fault([] { g_zero = g_seven / g_zero; }, false), ::testing::KilledBySignal(SIGFPE),
              "SIGFPE in guest code");
  EXPECT_EXIT(Fault([] { __builtin_trap(); }, true), ::testing::KilledBySignal(SIGILL),
              "SIGILL in host code");
}

TEST_F(FaultTest, AFailedCheckOfOurOwnIsNoDeniedCall) {
  EXPECT_EXIT(Fault([] { std::abort(); }, true), ::testing::KilledBySignal(SIGILL),
              "aborted: a check of its own failed");
}

TEST_F(FaultTest, ADeniedCallIsStillOne) {
  EXPECT_EXIT(Fault([] { ::getppid(); }, true), ::testing::KilledBySignal(SIGSYS), "");
}

}  // namespace
}  // namespace caisson::worker
