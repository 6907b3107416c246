#include "jail/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>

namespace caisson::jail {
namespace {

// _IOWR('f', 16, struct pm_scan_arg), Linux 6.7; missing in older uapi headers.
constexpr std::uint64_t kPagemapScan = 0xc0606610;

#if defined(__x86_64__)
constexpr std::uint32_t kNativeArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kNativeArch = AUDIT_ARCH_AARCH64;
#endif
// x32 shares the architecture and marks its calls with this bit. No native number reaches it.
constexpr std::uint32_t kX32Bit = 0x40000000;

using Code = std::vector<sock_filter>;

constexpr std::size_t kFarthestBranch =
    255;  // The bound for an instruction that tests; other jumps have none.

constexpr std::uint32_t Narrow(std::size_t n) {
  return static_cast<std::uint32_t>(n);
}

sock_filter Load32(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, Narrow(offset));
}
sock_filter Return(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}
// Continues with the next instruction, or skips `skipped` of them.
sock_filter SkipUnless(unsigned test, std::uint32_t value, std::size_t skipped) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value, 0,
                  static_cast<std::uint8_t>(skipped));
}
sock_filter SkipIf(unsigned test, std::uint32_t value, std::size_t skipped) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value,
                  static_cast<std::uint8_t>(skipped), 0);
}
void Append(Code& code, const Code& more) {
  code.insert(code.end(), more.begin(), more.end());
}

// Skips `skipped` instructions after these if the half of the argument does not match.
Code CheckHalf(ArgumentCheck::Op op, std::uint32_t value, std::size_t offset, std::size_t skipped) {
  Code code{Load32(offset)};
  switch (op) {
    case ArgumentCheck::Op::kEqual:
      code.push_back(SkipUnless(BPF_JEQ, value, skipped));
      break;
    case ArgumentCheck::Op::kNoneOf:
      code.push_back(SkipIf(BPF_JSET, value, skipped));
      break;
    case ArgumentCheck::Op::kAllOf:
      code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, value));
      code.push_back(SkipUnless(BPF_JEQ, value, skipped));
      break;
  }
  return code;
}

std::uint32_t Action(int error) {
  if (error == 0) return SECCOMP_RET_ALLOW;
  if (error == SyscallRule::kKill) return SECCOMP_RET_KILL_PROCESS;
  if (error == SyscallRule::kAsk) return SECCOMP_RET_USER_NOTIF;
  if (error == SyscallRule::kPretend) return SECCOMP_RET_ERRNO;  // Errno 0 is success.
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

// Compiles back to front, so that every part knows how many instructions to skip if it does not
// match.
Code CompileRule(const SyscallRule& rule) {
  Code code{Return(Action(rule.error))};
  for (auto check = rule.checks.rbegin(); check != rule.checks.rend(); ++check) {
    const std::size_t low = offsetof(seccomp_data, args) + check->index * sizeof(std::uint64_t);
    for (const bool high : {false, true}) {
      const auto value = static_cast<std::uint32_t>(high ? check->value >> 32 : check->value);
      if (value == 0 && check->op != ArgumentCheck::Op::kEqual) continue;  // No bit to test.
      Code half = CheckHalf(check->op, value, high ? low + 4 : low, code.size());
      Append(half, code);
      code = std::move(half);
    }
  }
  return code;
}

// The rules of one call, up to the first without checks.
struct Call {
  Code code;
  bool decided = false;  // Ends with a rule without checks, so nothing falls through.
};

// The action for the calls from this number up to the next leaf's.
struct Leaf {
  std::uint32_t first = 0;
  Code code;
};

// Makes a binary search over the numbers. When a filter is loaded, which happens in every process,
// the kernel walks it once for each existing system call. A linear list would take tens of times
// longer.
Code Search(std::span<const Leaf> leaves) {
  if (leaves.size() == 1) return leaves.front().code;
  const std::size_t half = leaves.size() / 2;
  const Code below = Search(leaves.first(half));
  Code code;
  if (below.size() <= kFarthestBranch) {
    code = {SkipIf(BPF_JGE, leaves[half].first, below.size())};
  } else {
    code = {SkipUnless(BPF_JGE, leaves[half].first, 1),
            BPF_STMT(BPF_JMP | BPF_JA, Narrow(below.size()))};
  }
  Append(code, below);
  Append(code, Search(leaves.subspan(half)));
  return code;
}

bool SameCode(const Code& a, const Code& b) {
  return std::ranges::equal(a, b, [](const sock_filter& x, const sock_filter& y) {
    return x.code == y.code && x.jt == y.jt && x.jf == y.jf && x.k == y.k;
  });
}

// Makes one leaf for each range of numbers with the same action.
std::vector<Leaf> MakeLeaves(const std::map<std::uint32_t, Call>& calls, std::uint32_t otherwise) {
  const Code kill{Return(SECCOMP_RET_KILL_PROCESS)};
  const Code other{Return(otherwise)};
  std::vector<Leaf> leaves{{.first = 0, .code = other}};
  const auto begin = [&leaves](std::uint32_t number, const Code& code) {
    if (leaves.back().first == number) leaves.pop_back();
    if (leaves.empty() || !SameCode(leaves.back().code, code)) leaves.push_back({number, code});
  };
  for (const auto& [number, call] : calls) {
    Code code = call.code;
    if (!call.decided) Append(code, kill);
    begin(number, code);
    begin(number + 1, other);
  }
  return leaves;
}

// `otherwise` is the action for calls without any rule.
Result<Code> CompileList(std::span<const SyscallRule> rules, std::uint32_t otherwise) {
  std::map<std::uint32_t, Call> calls;
  for (const SyscallRule& rule : rules) {
    if (rule.number < 0 || static_cast<std::uint32_t>(rule.number) >= kX32Bit) {
      return Error(ErrorCode::kInvalidArgument,
                   "no such system call: " + std::to_string(rule.number));
    }
    Call& call = calls[static_cast<std::uint32_t>(rule.number)];
    if (call.decided) continue;
    Append(call.code, CompileRule(rule));
    call.decided = rule.checks.empty();
  }
  Code code{Load32(offsetof(seccomp_data, arch)), SkipIf(BPF_JEQ, kNativeArch, 1),
            Return(SECCOMP_RET_KILL_PROCESS),     Load32(offsetof(seccomp_data, nr)),
            SkipUnless(BPF_JGE, kX32Bit, 1),      Return(SECCOMP_RET_KILL_PROCESS)};
  Append(code, Search(MakeLeaves(calls, otherwise)));
  if (code.size() > BPF_MAXINSNS) {
    return Error(ErrorCode::kInvalidArgument, "the filter is too long for the kernel");
  }
  return code;
}

}  // namespace

Result<Filter> Filter::Compile(std::span<const SyscallRule> rules) {
  TRY_ASSIGN(Code code, CompileList(rules, SECCOMP_RET_KILL_PROCESS));
  return Filter(std::move(code));
}

Result<Filter::Parts> Filter::CompileInParts(std::span<const SyscallRule> rules,
                                             std::span<const int> until_second) {
  std::vector<SyscallRule> first;
  std::vector<SyscallRule> second;
  for (int number : until_second) {
    first.push_back({.number = number});
    std::ranges::copy_if(rules, std::back_inserter(second),
                         [number](const SyscallRule& rule) { return rule.number == number; });
    second.push_back({.number = number, .error = SyscallRule::kKill});
  }
  first.insert(first.end(), rules.begin(), rules.end());
  TRY_ASSIGN(Code first_code, CompileList(first, SECCOMP_RET_KILL_PROCESS));
  TRY_ASSIGN(Code second_code, CompileList(second, SECCOMP_RET_ALLOW));
  return Parts{Filter(std::move(first_code)), Filter(std::move(second_code))};
}

Result<Filter> Filter::CompileQuestions(std::span<const SyscallRule> rules) {
  std::vector<SyscallRule> all;
  for (const SyscallRule& rule : rules) {
    all.push_back(rule);
    all.back().error = SyscallRule::kAsk;
  }
  for (const SyscallRule& rule : rules)
    all.push_back({.number = rule.number});  // All other arguments pass.
  TRY_ASSIGN(Code code, CompileList(all, SECCOMP_RET_ALLOW));
  return Filter(std::move(code));
}

long Filter::Install(unsigned flags) const {
  // The kernel only reads it; its struct is not const.
  const sock_fprog program{.len = static_cast<unsigned short>(code_.size()),
                           .filter = const_cast<sock_filter*>(code_.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

Result<UniqueFd> Filter::LoadListening() const {
  const long listener = Install(SECCOMP_FILTER_FLAG_NEW_LISTENER);
  if (listener < 0) return Error::FromErrno(errno, "seccomp: load a filter with a listener");
  return UniqueFd(static_cast<int>(listener));
}

Result<void> Filter::Load() const {
  const long result = Install(SECCOMP_FILTER_FLAG_TSYNC);
  if (result < 0) return Error::FromErrno(errno, "seccomp: load the filter");
  if (result > 0) {
    return Error(ErrorCode::kFailedPrecondition, "seccomp: a thread cannot be covered");
  }
  return {};
}

std::vector<SyscallRule> WorkerSyscalls(const WorkerDescriptors& descriptors) {
  using Op = ArgumentCheck::Op;
  std::vector<SyscallRule> rules;
  // Sleep and wake of the ring, time, the run's timer, return from a signal handler, memory, exit.
  for (int number :
       {SYS_futex, SYS_clock_gettime, SYS_timer_settime, SYS_setitimer, SYS_rt_sigreturn,
        SYS_restart_syscall, SYS_getrandom, SYS_madvise, SYS_munmap, SYS_brk, SYS_exit_group}) {
    rules.push_back({.number = number});
  }
  // Memory may be mapped and re-protected, but never made executable.
  for (int number : {SYS_mmap, SYS_mprotect}) {
    rules.push_back({.number = number, .checks = {{2, Op::kNoneOf, PROT_EXEC}}});
  }
  if (descriptors.pagemap >= 0) {
    const auto pagemap = static_cast<std::uint64_t>(descriptors.pagemap);
    rules.push_back(
        {.number = SYS_ioctl, .checks = {{0, Op::kEqual, pagemap}, {1, Op::kEqual, kPagemapScan}}});
    rules.push_back({.number = SYS_pread64, .checks = {{0, Op::kEqual, pagemap}}});
  }
  for (int fd : descriptors.writable) {
    rules.push_back(
        {.number = SYS_write, .checks = {{0, Op::kEqual, static_cast<std::uint64_t>(fd)}}});
  }
  return rules;
}

}  // namespace caisson::jail
