// A seccomp allow-list as data: which system calls, with which arguments; all others kill the
// process.
//
// Trust     The last wall to go up and the one hostile code meets first. Lists are written in this
//           tree, never read from configuration.
// Threads   Load covers every thread of the process, or fails.
// Lifetime  A loaded filter cannot be taken off. A Filter is a value and can be loaded in any number
//           of processes; Load neither allocates nor locks, so the child of a clone may call it.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::jail {

// The kernel passes 64-bit registers and reads most descriptors as ints; comparing all 64 bits errs
// on the side of not matching.
struct ArgumentCheck {
  enum class Op {
    kEqual,
    kNoneOf,  // None of the bits in `value` is set.
    kAllOf,   // All of them are.
  };
  unsigned index = 0;
  Op op = Op::kEqual;
  std::uint64_t value = 0;
};

struct SyscallRule {
  static constexpr int kKill = -1;
  static constexpr int kAsk = -2;          // Whoever holds the listener decides (listener.h).
  static constexpr int kPretend = -3;      // The call does nothing and returns 0.
  int number = 0;                          // SYS_futex...
  std::vector<ArgumentCheck> checks = {};  // All must hold; none: any arguments.
  // 0: allowed. kKill: what no rule allows. kAsk: only in CompileQuestions. Else the call fails with this errno.
  int error = 0;
};

// A list in the form the kernel takes. Compiled by hand rather than by libseccomp, which cannot say
// "with these arguments, else errno": there, a rule without arguments replaces those that have some.
class Filter {
 public:
  // Of several rules for one call the first whose checks hold decides. Calls for which none does, and
  // any call through another ABI (x32, int 0x80), kill the process with SIGSYS.
  static Result<Filter> Compile(std::span<const SyscallRule> rules);

  // A list in two parts, for a process that still needs some calls which those it forks are to lose.
  // `first` allows these `until_second` in any case; loaded on top of it, `second` makes both together
  // what `rules` says. It is short, so loading it in every process costs little.
  struct Parts;
  static Result<Parts> CompileInParts(std::span<const SyscallRule> rules,
                                      std::span<const int> until_second);

  // A filter that only asks: the calls that `rules` describe wait for the listener's answer, all others pass. Loaded on
  // top of another, which still decides: of two filters, the stricter counts, and a refusal is stricter than a question.
  static Result<Filter> CompileQuestions(std::span<const SyscallRule> rules);

  Result<void> Load() const;
  // Loads it and returns the listener that its questions come to. For a single-threaded process.
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
  std::vector<int> writable = {};  // Where write() may go: the log, an eventfd.
};

// What a single-threaded worker needs once it is up, and nothing that opens, connects, starts or
// makes code. Callers append what they can give a reason for.
std::vector<SyscallRule> WorkerSyscalls(const WorkerDescriptors& descriptors);

// What a cell must ask for where no namespace counts it: each new thread, each new name of a file.
std::vector<SyscallRule> CountedSyscalls();

struct InterpreterFilter {
  bool own_pids = false;  // It sees no process but its own, so it may signal whatever it sees.
  bool own_files =
      false;  // What it can name is its own or cannot be written to, so it may set modes and times.
  bool threads = false;    // May start threads; RLIMIT_NPROC or a listener says how many.
  bool processes = false;  // May fork, likewise.
  int successor = -1;      // May become the program behind this descriptor (become.h). -1: none.
};

// What a native interpreter with C extensions needs. Calls that ordinary code makes to find out what
// it has (sockets, programs, other users) fail with an errno that becomes a clear exception; those
// that only an attacker makes kill.
std::vector<SyscallRule> InterpreterSyscalls(const InterpreterFilter& filter);

}  // namespace caisson::jail
