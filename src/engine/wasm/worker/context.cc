#include "engine/wasm/worker/context.h"

#include <immintrin.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "engine/wasm/worker/last_words.h"
#include "engine/wasm/worker/window.h"
#include "wire/frames.h"

extern "C" {
caisson::worker::SwitchBlock caisson_switch;
volatile std::int32_t caisson_in_guest = 0;
volatile std::int32_t caisson_tick_missed = 0;
}

namespace caisson::worker {

// The state that the kernel saved when the timer interrupted: general registers, then the extended
// state.
struct PreemptedRegisters {
  gregset_t general;
  std::uint32_t extended_bytes = 0;
  alignas(64) std::uint8_t extended[12 << 10];
};

namespace {

constexpr std::uint64_t kRedZoneBytes = 128;
constexpr long kTickNs = 1'000'000;

static_assert(sizeof(Z_python_instance_t) <= kInstanceBytes);

Context* g_owner = nullptr;    // The context whose stack is in the window.
Context* g_running = nullptr;  // The context that is inside Go().
PreemptedRegisters
    g_registers;  // Registers of the running cell; copied to its Context when it is preempted.
bool g_resuming = false;
TickHandler g_on_tick = nullptr;
timer_t g_timer;
alignas(64) std::uint8_t g_signal_stack[64 << 10];

// The kernel stores the size of the extended state inside the state it saved.
std::uint32_t ExtendedBytes(const void* state) {
  constexpr std::size_t kSoftwareBytes = 464;
  constexpr std::uint32_t kMagic = 0x46505853;  // FP_XSTATE_MAGIC1
  std::uint32_t words[2];
  std::memcpy(words, static_cast<const std::uint8_t*>(state) + kSoftwareBytes, sizeof words);
  return words[0] == kMagic ? words[1] : 512;
}

void LeaveFrom(ucontext_t* at, Left left, std::uint32_t detail) {
  caisson_in_guest = 0;
  caisson_switch.left = left;
  caisson_switch.detail = detail;
  at->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&caisson_leave);
  // Its first instruction loads the host's stack pointer; until then nothing may be below this one.
  at->uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(caisson_switch.host_stack);
}

void OnTick(int, siginfo_t*, void* raw) {
  if (caisson_in_guest == 0) {
    // Host code is never interrupted half-way; HostScope handles the tick at its end.
    caisson_tick_missed = 1;
    return;
  }
  const int saved_errno = errno;
  if (g_on_tick()) {
    auto* at = static_cast<ucontext_t*>(raw);
    const std::uint32_t bytes = ExtendedBytes(at->uc_mcontext.fpregs);
    if (bytes <= sizeof g_registers.extended) {
      std::memcpy(g_registers.general, at->uc_mcontext.gregs, sizeof g_registers.general);
      std::memcpy(g_registers.extended, at->uc_mcontext.fpregs, bytes);
      g_registers.extended_bytes = bytes;
      LeaveFrom(at, Left::kPreempted, 0);
    }
  }
  errno = saved_errno;
}

// A hole in a wall, or a bug of ours. The handler of the signal cannot be removed any more, because
// the filter kills on rt_sigaction. So the signal is blocked in the interrupted context: the same
// instruction faults again, and the kernel ends a process whose fault is blocked with that signal.
void EndByFault(int signal, const siginfo_t& info, ucontext_t* at) {
  const bool cell_memory = g_running != nullptr && g_running->memory().Covers(info.si_addr);
  SayFault(signal, info, static_cast<std::uint64_t>(at->uc_mcontext.gregs[REG_RIP]),
           caisson_in_guest != 0, cell_memory);
  // Another process sent the signal, so nothing would fault again.
  if (info.si_code <= 0) __builtin_trap();
  ::sigaddset(&at->uc_sigmask, signal);
}

// Faults that the guest causes: an access outside its memory, or an exhausted stack. Any other
// fault ends the worker.
void OnFault(int signal, siginfo_t* info, void* raw) {
  auto* at = static_cast<ucontext_t*>(raw);
  if (signal == SIGILL && g_resuming && caisson_in_guest == 0 &&
      at->uc_mcontext.gregs[REG_RIP] == reinterpret_cast<greg_t>(caisson_resume_fault)) {
    // Only state that the kernel saved for this process is restored; the machine determines its
    // size.
    if (ExtendedBytes(at->uc_mcontext.fpregs) == g_registers.extended_bytes) {
      std::memcpy(at->uc_mcontext.gregs, g_registers.general, sizeof g_registers.general);
      std::memcpy(at->uc_mcontext.fpregs, g_registers.extended, g_registers.extended_bytes);
      g_resuming = false;
      caisson_in_guest = 1;
      return;
    }
  }
  if (signal == SIGSEGV && caisson_in_guest != 0 && info->si_code > 0 &&
      info->si_code != SI_KERNEL) {
    const auto address = reinterpret_cast<std::uint64_t>(info->si_addr);
    if (address >= kWindow + kInstanceBytes && address < kStackBottom) {
      return LeaveFrom(at, Left::kTrapped, static_cast<std::uint32_t>(wire::Trap::kStack));
    }
    if (g_running->memory().Covers(info->si_addr)) {
      // The guest's C stack lies at the bottom of its memory and grows down. Past zero it wraps to
      // just below 4 GiB, and a frame's offset may lead beyond. Other code is unlikely to access
      // that range.
      const std::uint64_t offset =
          address - reinterpret_cast<std::uint64_t>(g_running->memory().data());
      constexpr std::uint64_t kFourGiB = std::uint64_t{4} << 30;
      constexpr std::uint64_t kNear = std::uint64_t{64} << 20;
      const bool wrapped = offset >= kFourGiB - kNear && offset < kFourGiB + kNear;
      return LeaveFrom(
          at, Left::kTrapped,
          static_cast<std::uint32_t>(wrapped ? wire::Trap::kStack : wire::Trap::kMemory));
    }
  }
  EndByFault(signal, *info, at);
}

Result<void> InstallHandlers() {
  stack_t stack{};
  stack.ss_sp = g_signal_stack;
  stack.ss_size = sizeof g_signal_stack;
  if (::sigaltstack(&stack, nullptr) != 0) return Error::FromErrno(errno, "sigaltstack");
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigfillset(&action.sa_mask);
  action.sa_sigaction = OnTick;
  if (::sigaction(SIGALRM, &action, nullptr) != 0) return Error::FromErrno(errno, "sigaction");
  action.sa_sigaction = OnFault;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    if (::sigaction(signal, &action, nullptr) != 0) return Error::FromErrno(errno, "sigaction");
  }
  return {};
}

void SetTimer(long interval_ns) {
  itimerspec spec{};
  spec.it_value.tv_nsec = interval_ns;
  spec.it_interval.tv_nsec = interval_ns;
  ::timer_settime(g_timer, 0, &spec, nullptr);
}

}  // namespace

Z_python_instance_t& GuestInstance() {
  return *reinterpret_cast<Z_python_instance_t*>(kWindow);
}

Result<void> SetUpWindow(TickHandler on_tick) {
  g_on_tick = on_tick;
  const std::uint64_t bytes = kStackTop + kGuardBytes - kWindow;
  void* window = ::mmap(reinterpret_cast<void*>(kWindow), bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (window != reinterpret_cast<void*>(kWindow)) return Error::FromErrno(errno, "map the window");
  if (::mprotect(window, kInstanceBytes, PROT_READ | PROT_WRITE) != 0 ||
      ::mprotect(reinterpret_cast<void*>(kStackBottom), kStackBytes, PROT_READ | PROT_WRITE) != 0) {
    return Error::FromErrno(errno, "map the stack window");
  }
  GuestInstance().w2c_memory.max_pages = Z_PYTHON_MAX_PAGES;
  TRY(InstallHandlers());
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  if (::timer_create(CLOCK_MONOTONIC, &event, &g_timer) != 0) {
    return Error::FromErrno(errno, "timer_create");
  }
  return {};
}

void StartTicking() {
  SetTimer(kTickNs);
}
void StopTicking() {
  SetTimer(0);
}

bool TickMissed() {
  return caisson_tick_missed != 0;
}

extern "C" void caisson_take_missed_tick() {
  caisson_in_guest = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  caisson_tick_missed = 0;
  if (g_on_tick()) caisson_yield();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  caisson_in_guest = 1;
}

Context::Context(LinearMemory& memory)
    : memory_(memory), stack_global_(memory.base().header().stack_global) {}

Context::~Context() {
  Forget();
}

Context* Context::current() {
  return g_running;
}

void Context::Prepare() {
  Forget();
  TakeWindow();
  // The values that caisson_enter pops: r15, r14, r13, r12, rbx, rbp, then the return address. The
  // trampoline expects the instance in r12 and a stack aligned for a call.
  auto* top = reinterpret_cast<std::uint64_t*>(kStackTop) - 2;
  top[0] = 0;
  top[1] = 0;
  *--top = reinterpret_cast<std::uint64_t>(&caisson_trampoline);
  *--top = 0;
  *--top = 0;
  *--top = kWindow;
  *--top = 0;
  *--top = 0;
  *--top = 0;
  stack_pointer_ = reinterpret_cast<std::uint64_t>(top);
}

Left Context::Go(std::int32_t wait_answer) {
  TakeWindow();
  g_running = this;
  caisson_tick_missed = 0;  // The caller has just checked who wants the thread.
  caisson_switch.wait_answer = wait_answer;
  _writegsbase_u64(reinterpret_cast<std::uint64_t>(memory_.data()));
  if (registers_ != nullptr) {
    g_registers = *registers_;
    registers_.reset();
    g_resuming = true;
    caisson_resume_preempted();
  } else {
    caisson_enter(reinterpret_cast<void*>(stack_pointer_));
  }
  g_running = nullptr;
  stack_global_ = GuestInstance().w2c___stack_pointer;
  switch (caisson_switch.left) {
    case Left::kParked:
    case Left::kYielded:
      stack_pointer_ = reinterpret_cast<std::uint64_t>(caisson_switch.guest_stack);
      break;
    case Left::kPreempted:
      registers_ = std::make_unique<PreemptedRegisters>(g_registers);
      // Leaf functions keep data below the stack pointer; the copy must include it.
      stack_pointer_ = static_cast<std::uint64_t>(g_registers.general[REG_RSP]) - kRedZoneBytes;
      break;
    case Left::kFinished:
    case Left::kTrapped:
    case Left::kExited:
    case Left::kStopped:
      Forget();
      break;
  }
  return caisson_switch.left;
}

void Context::Forget() {
  if (g_owner == this) g_owner = nullptr;
  stack_pointer_ = 0;
  stack_.clear();
  registers_.reset();
}

void Context::ResetGlobals() {
  stack_global_ = memory_.base().header().stack_global;
}

void Context::RestoreGlobals(std::uint32_t stack_global) {
  stack_global_ = stack_global;
}

std::uint32_t Context::stack_global() const {
  return stack_global_;
}

void Context::TakeWindow() {
  if (g_owner == this) return;
  if (g_owner != nullptr) g_owner->SetAside();
  g_owner = this;
  GuestInstance().w2c___stack_pointer = stack_global_;
  MemoryGrew();
  if (!stack_.empty())
    std::memcpy(reinterpret_cast<void*>(stack_pointer_), stack_.data(), stack_.size());
}

void Context::SetAside() {
  if (stack_pointer_ == 0) return;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(stack_pointer_);
  stack_.assign(begin, reinterpret_cast<const std::uint8_t*>(kStackTop));
}

void Context::MemoryGrew() {
  if (g_owner != this) return;
  GuestInstance().w2c_memory.data = memory_.data();
  GuestInstance().w2c_memory.pages = memory_.wasm_pages();
  GuestInstance().w2c_memory.size = memory_.bytes();
}

std::span<const std::uint8_t> Context::ParkedStack() {
  if (g_owner == this) {
    SetAside();
    g_owner = nullptr;
  }
  return stack_;
}

bool Context::RestoreParked(std::uint64_t stack_pointer, std::span<const std::uint8_t> bytes,
                            std::uint32_t stack_global) {
  if (stack_pointer < kStackBottom || stack_pointer >= kStackTop || stack_pointer % 8 != 0 ||
      bytes.size() != kStackTop - stack_pointer) {
    return false;
  }
  Forget();
  stack_pointer_ = stack_pointer;
  stack_.assign(bytes.begin(), bytes.end());
  stack_global_ = stack_global;
  return true;
}

}  // namespace caisson::worker
