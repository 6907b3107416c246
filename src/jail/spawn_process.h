// Spawn starts our own helper program as a child that holds exactly what it was given.
//
// Trust     Privileged. The program is ours and becomes hostile only after its own call of Enter().
//           But it keeps for ever what it inherits, so nothing is inherited by default.
// Threads   Any thread may spawn. The child dies with the *thread* that spawned it (the kernel's
//           parent-death signal follows the thread), so spawn from a thread that lives as long as
//           the child should. A Child is used by one thread at a time, except Kill().
// Lifetime  A Child is owned; its destructor kills and reaps. It also dies if this process does,
//           unless its Bond says otherwise.
//
// This is the only way to start a program that will become hostile. Program (program.h) is for the
// operator's own programs. No code outside this folder calls exec (I1).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/tier.h"

namespace caisson::jail {

// How a child ended.
struct Exit {
  int status = 0;  // Exit status; meaningful when signal == 0.
  int signal = 0;  // The signal that killed it; 0: none.

  bool DeniedSyscall() const;  // True if seccomp killed it.
};

class Child {
 public:
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  // Becomes readable when the child ends; for event loops. Wait() then does not block.
  const UniqueFd& pidfd() const { return pidfd_; }

  // Sends SIGKILL, which also kills the whole pid namespace. Has no effect if the child has ended.
  void Kill() const;
  // Returns whether a signal has stopped the child. SIGCONT or SIGKILL ends the stop.
  bool IsStopped() const;
  // Blocks until the child has ended, reaps it and returns how it ended. Later calls return the
  // same.
  Result<Exit> Wait();
  // As Wait(), but returns nullopt after `timeout`. Zero: does not wait.
  Result<std::optional<Exit>> WaitFor(std::chrono::milliseconds timeout);

 private:
  friend class Starter;
  friend class Program;
  Child(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  void Destroy();

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::optional<Exit> exit_;
};

enum class Bond {
  kDiesWithUs,
  // Continues when this process has ended, with our ids and capabilities. For a program that no
  // hostile code ever reaches. Not in tier kNamespace.
  kOutlivesUs,
};

struct SpawnSpec {
  Tier tier = Tier::kNamespace;
  // A static ELF program, open for reading. If the host is root, others must be able to execute it,
  // because the child runs under a separate id (identity.h).
  const UniqueFd* program = nullptr;
  std::vector<std::string> argv = {};  // Including argv[0]. The environment is empty.
  // Become 3, 4, 5... in this order. All others are closed. Directories are refused because a
  // directory would give access to the host's files.
  std::vector<const UniqueFd*> descriptors = {};
  // Becomes descriptor 2; null: /dev/null. Use a pipe, not a file: Enter() forbids growing files.
  const UniqueFd* log = nullptr;
  std::optional<int> cpu = {};  // Pin to this core.
  Bond bond = Bond::kDiesWithUs;
};

// Returns once the program runs. After a failure nothing is left behind. If the tier is
// unavailable, the error names the step and the setting; Spawn never starts with a weaker boundary
// (I12).
Result<Child> Spawn(const SpawnSpec& spec);

}  // namespace caisson::jail
