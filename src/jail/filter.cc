#include "jail/filter.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <memory>
#include <string>

namespace caisson::jail {
namespace {

// _IOWR('f', 16, struct pm_scan_arg), Linux 6.7; older uapi headers do not have it.
constexpr std::uint64_t kPagemapScan = 0xc0606610;

using Context = std::unique_ptr<void, decltype(&seccomp_release)>;

Result<void> AddRule(scmp_filter_ctx context, const SyscallRule& rule) {
  std::vector<scmp_arg_cmp> compares;
  compares.reserve(rule.checks.size());
  for (const ArgumentCheck& check : rule.checks) {
    scmp_arg_cmp compare{};
    compare.arg = check.index;
    if (check.op == ArgumentCheck::Op::kEqual) {
      compare.op = SCMP_CMP_EQ;
      compare.datum_a = check.value;
    } else {
      compare.op = SCMP_CMP_MASKED_EQ;
      compare.datum_a = check.value;  // The mask; datum_b, what must remain, is 0.
    }
    compares.push_back(compare);
  }
  const std::uint32_t action =
      rule.error == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(static_cast<std::uint32_t>(rule.error));
  const int result = seccomp_rule_add_array(
      context, action, rule.number, static_cast<unsigned>(compares.size()), compares.data());
  if (result != 0) {
    return Error::FromErrno(-result, "filter rule for system call " + std::to_string(rule.number));
  }
  return {};
}

}  // namespace

Result<void> LoadFilter(std::span<const SyscallRule> rules) {
  Context context(seccomp_init(SCMP_ACT_KILL_PROCESS), &seccomp_release);
  if (!context) return Error(ErrorCode::kInternal, "seccomp_init failed");
  // Without this a foreign ABI would kill only the thread.
  if (int r = seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS); r) {
    return Error::FromErrno(-r, "seccomp: kill foreign ABIs");
  }
  if (int r = seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_TSYNC, 1); r) {
    return Error::FromErrno(-r, "seccomp: cover all threads");
  }
  for (const SyscallRule& rule : rules) TRY(AddRule(context.get(), rule));
  if (int r = seccomp_load(context.get()); r) return Error::FromErrno(-r, "seccomp: load filter");
  return {};
}

std::vector<SyscallRule> WorkerSyscalls(const WorkerDescriptors& descriptors) {
  using Op = ArgumentCheck::Op;
  std::vector<SyscallRule> rules;
  // The ring's sleep and wake, time, the run's timer, leaving a signal handler, memory, the end.
  for (int number :
       {SYS_futex, SYS_clock_gettime, SYS_timer_settime, SYS_setitimer, SYS_rt_sigreturn,
        SYS_restart_syscall, SYS_getrandom, SYS_madvise, SYS_munmap, SYS_brk, SYS_exit_group}) {
    rules.push_back({.number = number});
  }
  // Memory may be mapped and re-protected, never made executable.
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
