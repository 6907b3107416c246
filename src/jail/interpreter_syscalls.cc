#ifdef __x86_64__
#include <asm/prctl.h>
#endif
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <initializer_list>
#include <utility>

#include "jail/filter.h"

namespace caisson::jail {
namespace {

using Op = ArgumentCheck::Op;
using Rules = std::vector<SyscallRule>;

// Missing in the headers of some distributions we build on.
constexpr int kFutexWaitv = 449;
constexpr int kCachestat = 451;
constexpr int kPopulateRead = 22;   // MADV_POPULATE_READ
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE

constexpr std::uint64_t kNamespaceFlags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
                                          CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                                          CLONE_NEWCGROUP | CLONE_NEWTIME;
// The flags with which glibc starts a thread. A task that shares less is a process.
constexpr std::uint64_t kThreadFlags =
    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

void Allow(Rules& rules, std::initializer_list<int> numbers) {
  for (int number : numbers) rules.push_back({.number = number});
}
void Refuse(Rules& rules, int error, std::initializer_list<int> numbers) {
  for (int number : numbers) rules.push_back({.number = number, .error = error});
}
// Allows the call with one of these values of an argument; otherwise it fails with an errno.
void AllowValues(Rules& rules, int number, unsigned argument,
                 std::initializer_list<std::uint64_t> values, int error) {
  for (std::uint64_t value : values) {
    rules.push_back({.number = number, .checks = {{argument, Op::kEqual, value}}});
  }
  rules.push_back({.number = number, .error = error});
}

// A file without a name leaves no mark on its directory but takes an inode number, from which the
// next cell of a slot could tell that another cell ran before. Libraries fall back to a named
// file.
void AllowNamedFiles(Rules& rules, int number, unsigned flags) {
  constexpr std::uint64_t kNameless = O_TMPFILE & ~O_DIRECTORY;
  rules.push_back({.number = number, .checks = {{flags, Op::kNoneOf, kNameless}}});
  rules.push_back({.number = number, .error = EOPNOTSUPP});
}

void Memory(Rules& rules) {
  Allow(rules, {SYS_munmap, SYS_mremap, SYS_brk, SYS_msync});
  // Excludes MADV_PAGEOUT and MADV_COLD, which remove pages of shared files from memory (see
  // PageCache), and MADV_MERGEABLE: the time that a write to merged memory takes reveals what other
  // cells have in theirs.
  AllowValues(
      rules, SYS_madvise, 2,
      {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE,
       MADV_REMOVE, MADV_DONTFORK, MADV_DOFORK, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP,
       MADV_DODUMP, MADV_WIPEONFORK, MADV_KEEPONFORK, kPopulateRead, kPopulateWrite},
      EINVAL);
  // Extension modules are mapped from files that no cell can write. No other memory becomes code:
  // not anonymous memory, and not memory that is or was writable. Files of the cell itself are on a
  // noexec mount.
  rules.push_back({.number = SYS_mmap, .checks = {{2, Op::kNoneOf, PROT_EXEC}}});
  rules.push_back({.number = SYS_mmap,
                   .checks = {{2, Op::kNoneOf, PROT_WRITE}, {3, Op::kNoneOf, MAP_ANONYMOUS}}});
  rules.push_back({.number = SYS_mmap, .error = EACCES});
  rules.push_back({.number = SYS_mprotect, .checks = {{2, Op::kNoneOf, PROT_EXEC}}});
  rules.push_back({.number = SYS_mprotect, .error = EACCES});
  Refuse(rules, EPERM, {SYS_mlock, SYS_mlock2, SYS_mlockall, SYS_munlock, SYS_munlockall});
  // BLAS libraries call this; without an answer they assume a single node.
  Refuse(rules, ENOSYS,
         {SYS_get_mempolicy, SYS_set_mempolicy, SYS_mbind, SYS_pkey_alloc, SYS_pkey_free,
          SYS_pkey_mprotect, SYS_membarrier});
  // A memfd can be executable, and shared memory would be shared between all cells of a fork
  // server.
  Refuse(rules, EACCES,
         {SYS_memfd_create, SYS_shmget, SYS_shmat, SYS_shmctl, SYS_shmdt, SYS_semget, SYS_semop,
          SYS_semctl, SYS_semtimedop, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open,
          SYS_mq_unlink});
}

// All cells read the same library files. A cell that can remove a file from the page cache, and
// later see whether it is back, learns which files another cell has read. So no call may reveal
// what is in the cache or remove something from it. The duration of a read still reveals a little,
// but reading puts the file into the cache, so a cell can look only once.
void PageCache(Rules& rules) {
  Refuse(rules, ENOSYS, {SYS_mincore, kCachestat});
  // RWF_NOWAIT reveals what is in the cache; RWF_DONTCACHE removes it. glibc falls back if the
  // flags are 0.
  AllowValues(rules, SYS_preadv2, 5, {0}, EOPNOTSUPP);
  AllowValues(rules, SYS_pwritev2, 5, {0}, EOPNOTSUPP);
  // POSIX_FADV_DONTNEED removes pages from the cache. Advice may be ignored, and libraries do not
  // expect an error.
  AllowValues(rules, SYS_fadvise64, 3,
              {POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL, POSIX_FADV_WILLNEED},
              SyscallRule::kPretend);
}

// Other cells would see a lock on a library file, and locks are kernel memory that no limit counts.
// A filter cannot distinguish files, so no cell ever takes a lock (ADR 44).
// A process never waits for its own POSIX locks. So in a cell of one process these calls succeed
// without any effect, and sqlite3 works. Between several processes that would be wrong, so there
// these locks fail. Locks that belong to an open file (flock, F_OFD_SETLK) also exclude within one
// process, so they always fail, with ENOSYS, which libraries (filelock, HDF5) take as "this file
// system has none".
void Locks(Rules& rules, const InterpreterFilter& filter) {
  Refuse(rules, ENOSYS, {SYS_flock});
  const int taken = filter.processes ? EPERM : SyscallRule::kPretend;
  for (const std::uint64_t command : std::initializer_list<std::uint64_t>{F_SETLK, F_SETLKW}) {
    rules.push_back({.number = SYS_fcntl, .checks = {{1, Op::kEqual, command}}, .error = taken});
  }
}

// The mount namespace and Landlock decide which files exist.
void Files(Rules& rules, const InterpreterFilter& filter) {
  Allow(rules, {SYS_read,       SYS_write,     SYS_readv,       SYS_writev,
                SYS_pread64,    SYS_pwrite64,  SYS_preadv,      SYS_pwritev,
                SYS_lseek,      SYS_close,     SYS_close_range, SYS_newfstatat,
                SYS_fstat,      SYS_statx,     SYS_faccessat,   SYS_faccessat2,
                SYS_readlinkat, SYS_getcwd,    SYS_chdir,       SYS_fchdir,
                SYS_getdents64, SYS_mkdirat,   SYS_unlinkat,    SYS_renameat,
                SYS_renameat2,  SYS_linkat,    SYS_symlinkat,   SYS_truncate,
                SYS_ftruncate,  SYS_fallocate, SYS_umask,       SYS_fsync,
                SYS_fdatasync,  SYS_statfs,    SYS_fstatfs,     SYS_copy_file_range,
                SYS_sendfile,   SYS_dup,       SYS_dup3,        SYS_pipe2});
#ifdef __x86_64__
  AllowNamedFiles(rules, SYS_open, 1);
  Allow(rules, {SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_mkdir, SYS_rmdir,
                SYS_unlink, SYS_rename, SYS_link, SYS_symlink, SYS_dup2, SYS_pipe});
  Refuse(rules, EPERM, {SYS_chown, SYS_lchown, SYS_mknod});
  Refuse(rules, filter.own_files ? 0 : EPERM, {SYS_chmod, SYS_utime, SYS_utimes, SYS_futimesat});
  Refuse(rules, ENOSYS, {SYS_getdents, SYS_inotify_init, SYS_signalfd});
#endif
  AllowNamedFiles(rules, SYS_openat, 2);
  // Landlock does not cover these.
  Refuse(rules, filter.own_files ? 0 : EPERM, {SYS_fchmod, SYS_fchmodat, SYS_utimensat});
  Refuse(rules, EPERM, {SYS_fchown, SYS_fchownat, SYS_mknodat, SYS_sync, SYS_syncfs, SYS_chroot});
  // Attributes of tmpfs files are kernel memory that no limit counts.
  Refuse(rules, EOPNOTSUPP,
         {SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr, SYS_llistxattr, SYS_flistxattr,
          SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr,
          SYS_fremovexattr});
  Refuse(rules, ENOSYS,
         {SYS_splice, SYS_tee, SYS_vmsplice, SYS_inotify_init1, SYS_openat2, SYS_timerfd_create,
          SYS_signalfd4});
  PageCache(rules);
  Locks(rules, filter);
  // Excludes commands that make the kernel send signals (F_SETOWN, F_SETSIG, F_NOTIFY, leases).
  // F_GETLK finds no lock of a cell because there are none; sqlite3 calls it.
  AllowValues(rules, SYS_fcntl, 1,
              {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_GETPIPE_SZ},
              EPERM);
  // isatty() and the width of a terminal, which both fail; the number of bytes in a pipe.
  AllowValues(rules, SYS_ioctl, 1, {TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX, FIONBIO},
              ENOTTY);
}

void Waiting(Rules& rules) {
  Allow(rules, {SYS_futex, SYS_ppoll, SYS_pselect6, SYS_clock_gettime, SYS_clock_getres,
                SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_times, SYS_getitimer,
                SYS_setitimer, SYS_eventfd2, SYS_restart_syscall, SYS_sched_yield});
#ifdef __x86_64__
  Allow(rules, {SYS_poll, SYS_select, SYS_time, SYS_alarm, SYS_pause});
  Refuse(rules, ENOSYS, {SYS_epoll_create, SYS_eventfd});
#endif
  // Code that prefers epoll falls back to poll.
  Refuse(rules, ENOSYS, {SYS_epoll_create1, SYS_timer_create, kFutexWaitv});
  Refuse(rules, EPERM, {SYS_clock_settime, SYS_settimeofday, SYS_adjtimex, SYS_clock_adjtime});
}

void Tasks(Rules& rules, const InterpreterFilter& filter) {
  Allow(rules, {SYS_exit,
                SYS_exit_group,
                SYS_wait4,
                SYS_waitid,
                SYS_gettid,
                SYS_getpid,
                SYS_getppid,
                SYS_getpgid,
                SYS_getsid,
                SYS_set_tid_address,
                SYS_set_robust_list,
                SYS_rseq,
                SYS_rt_sigaction,
                SYS_rt_sigprocmask,
                SYS_rt_sigreturn,
                SYS_rt_sigpending,
                SYS_rt_sigtimedwait,
                SYS_rt_sigsuspend,
                SYS_sigaltstack,
                SYS_getrusage,
                SYS_sched_getaffinity,
                SYS_getcpu,
                SYS_getpriority,
                SYS_sched_getscheduler,
                SYS_sched_getparam,
                SYS_sched_get_priority_max,
                SYS_sched_get_priority_min});
  // A filter cannot see the flags of clone3. If it does not exist, glibc starts threads with clone.
  Refuse(rules, ENOSYS, {SYS_clone3});
  rules.push_back({.number = SYS_clone,
                   .checks = {{0, Op::kNoneOf, kNamespaceFlags}, {0, Op::kAllOf, kThreadFlags}},
                   .error = filter.threads ? 0 : EAGAIN});
  rules.push_back({.number = SYS_clone,
                   .checks = {{0, Op::kNoneOf, kNamespaceFlags | CLONE_PARENT | CLONE_PTRACE}},
                   .error = filter.processes ? 0 : EAGAIN});
#ifdef __x86_64__
  Refuse(rules, filter.processes ? 0 : EAGAIN, {SYS_fork, SYS_vfork});
  Allow(rules, {SYS_getpgrp});
  // A starting program sets the address of its thread-local variables. The same is possible with an
  // unprivileged instruction.
  if (filter.successor >= 0) {
    rules.push_back({.number = SYS_arch_prctl, .checks = {{0, Op::kEqual, ARCH_SET_FS}}});
  }
  Refuse(rules, EINVAL, {SYS_arch_prctl});
#endif
  Refuse(rules, filter.own_pids ? 0 : EPERM, {SYS_kill, SYS_tkill, SYS_tgkill});
  Refuse(rules, EPERM,
         {SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_open, SYS_pidfd_send_signal,
          SYS_setpriority, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setaffinity,
          SYS_setsid, SYS_setpgid});
  if (filter.successor >= 0) {
    const auto descriptor = static_cast<std::uint64_t>(filter.successor);
    rules.push_back({.number = SYS_execveat,
                     .checks = {{0, Op::kEqual, descriptor}, {4, Op::kEqual, AT_EMPTY_PATH}}});
  }
  // No program can be started, so no file on disk can become a second process.
  Refuse(rules, EACCES, {SYS_execve, SYS_execveat});
  AllowValues(rules, SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME}, EPERM);
  // Its own limits only, which it can only lower.
  AllowValues(rules, SYS_prlimit64, 0, {0}, EPERM);
  Allow(rules, {SYS_getrlimit, SYS_setrlimit});
}

void Machine(Rules& rules) {
  Allow(rules, {SYS_getrandom, SYS_uname, SYS_sysinfo, SYS_getuid, SYS_geteuid, SYS_getgid,
                SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups});
  Refuse(rules, EPERM,
         {SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
          SYS_setgroups, SYS_setfsuid, SYS_setfsgid, SYS_capget, SYS_capset, SYS_sethostname,
          SYS_setdomainname});
}

// A cell reads and writes its one socket like a file.
void Network(Rules& rules) {
  Refuse(rules, EACCES,
         {SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4,
          SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg,
          SYS_shutdown, SYS_getsockname, SYS_getpeername, SYS_getsockopt, SYS_setsockopt});
}

}  // namespace

Rules CountedSyscalls() {
  Rules rules;
  rules.push_back({.number = SYS_clone});
  // Flags and modes are in registers: the kernel uses the same values that the listener sees.
  for (const auto& [number, flags] :
       std::initializer_list<std::pair<int, unsigned>>{{SYS_open, 1}, {SYS_openat, 2}}) {
    rules.push_back({.number = number, .checks = {{flags, Op::kAllOf, O_CREAT}}});
  }
  for (int number :
       {SYS_creat, SYS_mkdir, SYS_mkdirat, SYS_symlink, SYS_symlinkat, SYS_link, SYS_linkat}) {
    rules.push_back({.number = number});
  }
  return rules;
}

Rules InterpreterSyscalls(const InterpreterFilter& filter) {
  Rules rules;
  Memory(rules);
  Files(rules, filter);
  Waiting(rules);
  Tasks(rules, filter);
  Machine(rules);
  Network(rules);
  return rules;
}

}  // namespace caisson::jail
