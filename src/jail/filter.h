// A Filter is a seccomp allow-list as data: which system calls, with which arguments. All other
// calls kill the process.
//
// Trust     The last wall to go up and the first that hostile code meets. Lists are written in this
//           source tree, never read from configuration.
// Threads   Load covers every thread of the process, or fails.
// Lifetime  A loaded filter cannot be removed. A Filter is a value and can be loaded in any number
//           of processes. Load neither allocates nor locks, so the child of a clone may call it.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::jail {

// The kernel passes 64-bit registers and reads most descriptors as ints. Comparing all 64 bits is
// the safe choice: unexpected high bits do not match.
struct ArgumentCheck {
  enum class Op {
    kEqual,
    kNoneOf,  // None of the bits in `value` is set.
    kAllOf,   // All bits in `value` are set.
  };
  unsigned index = 0;
  Op op = Op::kEqual;
  std::uint64_t value = 0;
};

struct SyscallRule {
  static constexpr int kKill = -1;
  static constexpr int kAsk = -2;          // The owner of the listener decides (listener.h).
  static constexpr int kPretend = -3;      // The call does nothing and returns 0.
  int number = 0;                          // SYS_futex...
  std::vector<ArgumentCheck> checks = {};  // All must hold. Empty: any arguments.
  // 0: the call is allowed. kKill: the process is killed, as for a call without a rule. kAsk: only
  // in CompileQuestions. Any other value: the call fails with this errno.
  int error = 0;
};

// A list in the form that the kernel takes. Compiled here rather than by libseccomp, which cannot
// express "allow with these arguments, else errno": there, a rule without arguments replaces those
// with arguments.
class Filter {
 public:
  // If several rules match one call, the first whose checks hold decides. A call that no rule
  // matches, and any call through another ABI (x32, int 0x80), kills the process with SIGSYS.
  static Result<Filter> Compile(std::span<const SyscallRule> rules);

  // A list in two parts, for a process that still needs some calls that the processes it forks must
  // lose. `first` also allows the calls in `until_second`. When `second` is loaded on top of it,
  // both together have the effect of `rules`. `second` is short, so that loading it in every
  // process is cheap.
  struct Parts;
  static Result<Parts> CompileInParts(std::span<const SyscallRule> rules,
                                      std::span<const int> until_second);

  // A filter that only asks: the calls that `rules` describe wait for the listener's answer, all
  // others pass. It is loaded on top of another filter, which still decides: of two filters the
  // stricter result counts, and a refusal is stricter than a question.
  static Result<Filter> CompileQuestions(std::span<const SyscallRule> rules);

  Result<void> Load() const;
  // Loads it and returns the listener that receives its questions. For a single-threaded process.
  Result<UniqueFd> LoadListening() const;

  std::size_t size() const { return code_.size(); }

 private:
  explicit Filter(std::vector<sock_filter> code) : code_(std::move(code)) {}

  long Install(unsigned flags) const;

  std::vector<sock_filter> code_;
};

struct Filter::Parts {
  Filter first;
  Filter second;
};

struct WorkerDescriptors {
  int pagemap = -1;                // /proc/self/pagemap, opened before Enter().
  std::vector<int> writable = {};  // Descriptors that write() may use: the log, an eventfd.
};

// Returns the calls that a single-threaded worker needs after its start. They cannot open, connect,
// start or make code executable. Callers append further rules only with a stated reason.
std::vector<SyscallRule> WorkerSyscalls(const WorkerDescriptors& descriptors);

// The calls that a cell must ask for, because no limit of the kernel bounds their effect for a
// cell.
struct CountedCalls {
  // Each new thread and each new name of a file: where no namespace counts them.
  bool threads_and_names = false;
};
// Returns them. New pipes are always among them: the kernel bounds their memory for a user, and all
// cells are one user.
std::vector<SyscallRule> CountedSyscalls(CountedCalls counted);

struct InterpreterFilter {
  // The process sees only its own processes, so it may signal any process it sees.
  bool own_pids = false;
  // The process can only name files that are its own or not writable, so it may set modes and
  // times.
  bool own_files = false;
  bool threads = false;    // May start threads; RLIMIT_NPROC or a listener limits their number.
  bool processes = false;  // May fork, with the same limit.
  int successor = -1;      // May execute the program behind this descriptor (become.h). -1: none.
};

// Returns the calls that a native interpreter with C extensions needs. Calls that ordinary code
// makes to detect features (sockets, programs, other users) fail with an errno that becomes a clear
// exception. Calls that only an attacker makes kill the process.
std::vector<SyscallRule> InterpreterSyscalls(const InterpreterFilter& filter);

}  // namespace caisson::jail
