// The program that jail_test.cc puts into a jail. It enters a tier, then makes one attempt and
// writes the result to descriptor 2.
//
//   jail_test_child TIER narrow|wide|loose|off ATTEMPT
//
// `narrow` is the worker's own filter: a forbidden attempt is killed by SIGSYS. `wide` also allows
// the calls that the attempts use, which shows that the walls behind the filter hold without it.
// `loose` is wide without the limits on descriptors and processes, which shows that the walls
// behind those hold too. `off` does not enter a jail at all: the control.
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "jail/enter.h"

namespace {

using caisson::jail::ArgumentCheck;
using caisson::jail::SyscallRule;

// All output after Enter() uses this function: the filter refuses the calls of stdio.
void Say(std::string_view text) {
  std::string line(text);
  line += "\n";
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

void SayResult(long result) {
  Say(result >= 0 ? "ok " + std::to_string(result) : "errno " + std::to_string(errno));
}

int g_pagemap = -1;  // NOLINT: one process, one attempt.

struct PagemapScan {  // struct pm_scan_arg, Linux 6.7.
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long kPagemapScan = 0xc0606610;

long ScanOn(int fd) {
  static std::array<char, 8192> page;
  page[0] = 1;
  const auto start = reinterpret_cast<std::uint64_t>(page.data()) & ~std::uint64_t{4095};
  std::array<std::uint64_t, 3> regions{};
  PagemapScan scan{};
  scan.size = sizeof scan;
  scan.start = start;
  scan.end = start + 4096;
  scan.vec = reinterpret_cast<std::uint64_t>(regions.data());
  scan.vec_len = 1;
  scan.category_mask = 1 << 3;  // PAGE_IS_PRESENT
  scan.return_mask = 1 << 3;
  return ::syscall(SYS_ioctl, fd, kPagemapScan, &scan);
}

long ConnectTo(int type, std::uint32_t address) {
  const int fd = ::socket(AF_INET, type, 0);
  if (fd < 0) return -1;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  to.sin_addr.s_addr = htonl(address);
  return ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to);
}

long Int80(long number) {
  long result = 0;
  asm volatile("int $0x80" : "=a"(result) : "a"(number) : "memory", "r8", "r9", "r10", "r11");
  return result;
}

long MapExec() {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? -1 : 0;
}

// Turns data into code, as an attacker who can write memory needs.
long ProtectExec() {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return ::mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

// Returns the number of non-empty words in the thread's capability sets.
long CountCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return -1;
  long count = 0;
  for (const auto& word : data) {
    count += (word.effective != 0) + (word.permitted != 0) + (word.inheritable != 0);
  }
  return count;
}

long CountBoundingSet() {
  long count = 0;
  for (int capability = 0; capability < 64; ++capability) {
    if (::syscall(SYS_prctl, PR_CAPBSET_READ, capability, 0, 0, 0) == 1) ++count;
  }
  return count;
}

const std::map<std::string_view, std::function<long()>>& Attempts() {
  static const std::map<std::string_view, std::function<long()>> kAttempts = {
      {"nothing", [] { return 0L; }},
      {"open_passwd", [] { return ::open("/etc/passwd", O_RDONLY); }},
      {"open_root", [] { return ::open("/", O_RDONLY | O_DIRECTORY); }},
      {"open_proc", [] { return ::open("/proc/self/status", O_RDONLY); }},
      {"stat_passwd",
       [] {
         struct stat info;
         return ::stat("/etc/passwd", &info);
       }},
      {"create_tmp", [] { return ::open("/tmp/caisson-jail-test", O_WRONLY | O_CREAT, 0600); }},
      {"create_here", [] { return ::open("x", O_WRONLY | O_CREAT, 0600); }},
      {"socket_inet", [] { return ::socket(AF_INET, SOCK_STREAM, 0); }},
      {"connect_loopback", [] { return ConnectTo(SOCK_DGRAM, 0x7f000001); }},
      {"connect_tcp", [] { return ConnectTo(SOCK_STREAM, 0x7f000001); }},
      {"connect_world", [] { return ConnectTo(SOCK_DGRAM, 0xc0000201); }},
      {"mount", [] { return ::syscall(SYS_mount, "none", "/", "tmpfs", 0, nullptr); }},
      {"fork",
       [] {
         const long pid = ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
         if (pid == 0) ::syscall(SYS_exit_group, 0);
         return pid;
       }},
      {"user_namespace", [] { return ::syscall(SYS_unshare, 0x10000000); }},
      {"ptrace_parent",
       [] { return ::syscall(SYS_ptrace, PTRACE_SEIZE, ::syscall(SYS_getppid), 0, 0); }},
      {"kill_all", [] { return ::syscall(SYS_kill, -1, 0); }},
      {"kill_parent", [] { return ::syscall(SYS_kill, ::syscall(SYS_getppid), 0); }},
      {"exec",
       [] {
         const std::array<char*, 1> none = {nullptr};
         return ::syscall(SYS_execveat, 3, "", none.data(), none.data(), AT_EMPTY_PATH);
       }},
      {"exec_shell",
       [] {
         const std::array<char*, 1> none = {nullptr};
         return ::syscall(SYS_execve, "/bin/sh", none.data(), none.data());
       }},
      {"map_exec", MapExec},
      {"protect_exec", ProtectExec},
      {"map_data",
       [] {
         void* page =
             ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return page == MAP_FAILED ? -1L : 0L;
       }},
      {"scan_pagemap", [] { return ScanOn(g_pagemap); }},
      {"read_pagemap",
       [] {
         std::uint64_t entry = 0;
         const auto page = reinterpret_cast<std::uintptr_t>(&entry) / 4096;
         return ::syscall(SYS_pread64, g_pagemap, &entry, sizeof entry, page * 8);
       }},
      {"ioctl_other_fd", [] { return ScanOn(STDERR_FILENO); }},
      {"ioctl_other_request", [] { return ::syscall(SYS_ioctl, g_pagemap, 0x5401, 0); }},
      {"write_other_fd", [] { return ::syscall(SYS_write, STDOUT_FILENO, "x", 1); }},
      {"write_high_bits",
       [] { return ::syscall(SYS_write, (1ULL << 32) | STDERR_FILENO, "x", 1); }},
      {"dup", [] { return ::syscall(SYS_dup, STDERR_FILENO); }},
      {"x32_getpid", [] { return ::syscall(0x40000000 | SYS_getpid); }},
      {"x32_futex", [] { return ::syscall(0x40000000 | SYS_futex, 0, 1, 0, 0, 0, 0); }},
      {"int80_getpid", [] { return Int80(20); }},
      {"int80_brk", [] { return Int80(45); }},
      {"raise_limit",
       [] {
         const rlimit limit{.rlim_cur = 1, .rlim_max = 1};
         return ::syscall(SYS_prlimit64, 0, RLIMIT_NPROC, &limit, nullptr);
       }},
      {"become_root", [] { return ::syscall(SYS_setresuid, 0, 0, 0); }},
      {"capabilities", CountCapabilities},
      {"bounding_set", CountBoundingSet},
      {"own_id", [] { return ::syscall(SYS_getuid); }},
      {"host_name",
       [] {
         struct utsname names{};
         if (::uname(&names) != 0) return -1L;
         const bool ours = names.nodename == std::string_view("caisson") && !*names.domainname;
         return ours ? 0L : 1L;
       }},
      {"dumpable", [] { return ::syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0); }},
      {"new_privs", [] { return ::syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); }},
  };
  return kAttempts;
}

std::vector<SyscallRule> Filter(std::string_view width) {
  auto rules = caisson::jail::WorkerSyscalls({.pagemap = g_pagemap, .writable = {STDERR_FILENO}});
  if (width == "narrow") return rules;
  for (int number :
       {SYS_capget,  SYS_open,   SYS_openat,   SYS_stat,     SYS_newfstatat, SYS_socket,
        SYS_connect, SYS_mount,  SYS_clone,    SYS_unshare,  SYS_ptrace,     SYS_getppid,
        SYS_kill,    SYS_execve, SYS_execveat, SYS_dup,      SYS_prlimit64,  SYS_setresuid,
        SYS_getuid,  SYS_prctl,  SYS_mmap,     SYS_mprotect, SYS_close,      SYS_uname}) {
    rules.push_back({.number = number});
  }
  return rules;
}

// Before the jail: writes what was inherited, in one line: descriptors, environment, session,
// signals.
void SayInheritance() {
  std::string line = "fds";
  for (int fd = 0; fd < 4096; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) line += " " + std::to_string(fd);
  }
  int variables = 0;
  for (char** variable = ::environ; *variable != nullptr; ++variable) ++variables;
  sigset_t blocked;
  ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
  struct sigaction pipe{};
  ::sigaction(SIGPIPE, nullptr, &pipe);
  line += "; environment " + std::to_string(variables);
  line += "; session leader " + std::to_string(::getsid(0) == ::getpid() ? 1 : 0);
  line += "; blocked " + std::to_string(::sigismember(&blocked, SIGTERM));
  line += "; ignored " + std::to_string(pipe.sa_handler == SIG_IGN ? 1 : 0);
  line += "; cpus " + std::to_string(__builtin_popcountl([] {
            unsigned long mask = 0;
            ::syscall(SYS_sched_getaffinity, 0, sizeof mask, &mask);
            return mask;
          }()));
  Say(line);
}

void Hang() {
  Say("ready");
  for (std::uint32_t word = 0;;) ::syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, nullptr);
}

int Main(std::string_view tier_name, std::string_view width, std::string_view attempt) {
  if (attempt == "inheritance") {
    SayInheritance();
    return 0;
  }
  auto tier = caisson::jail::ParseTier(tier_name);
  if (!tier) return 2;
  g_pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (g_pagemap < 0) {
    Say("cannot open the page map: " + std::to_string(errno));
    return 3;
  }
  if (attempt == "threads") {
    // A second task in the same thread group, without a thread library.
    static std::array<char, 65536> stack;
    ::clone(
        [](void*) -> int {
          for (;;) ::pause();
        },
        stack.data() + stack.size(), 0x100 | 0x200 | 0x400 | 0x800 | 0x10000,
        nullptr);  // VM FS FILES SIGHAND THREAD
  }
  if (width == "off") {
    SayResult(Attempts().at(attempt)());
    return 0;
  }
  const std::uint64_t limit = width == "loose" ? 64 : 0;
  auto walls = caisson::jail::Enter(
      {.tier = *tier, .syscalls = Filter(width), .processes = limit, .open_files = limit});
  if (!walls) {
    Say("enter: " + walls.error().message());
    return 4;
  }
  if (attempt == "hang") Hang();
  if (attempt == "walls") {
    for (const auto& wall : *walls) Say((wall.up ? "+" : "-") + wall.name + " " + wall.why_not);
    return 0;
  }
  const auto found = Attempts().find(attempt);
  if (found == Attempts().end()) {
    Say("no such attempt");
    return 5;
  }
  SayResult(found->second());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  // _exit: destructors and stdio would make calls that the filter refuses.
  ::_exit(Main(argv[1], argv[2], argv[3]));
}
