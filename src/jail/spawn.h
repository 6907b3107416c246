// Spawn starts our own helper program as a child that holds exactly what it was given.
//
// Trust     Privileged. The program is ours and becomes hostile only after its own call of Enter();
//           but whatever it inherits it keeps for ever, so nothing is inherited by default.
// Threads   Any thread may spawn. The child dies with the *thread* that spawned it (that is what
//           the kernel's parent-death signal follows), so spawn from one that lives as long as the
//           child should. A Child is used by one thread at a time, except Kill().
// Lifetime  A Child is owned; its destructor kills and reaps. It also dies if this process does.
//
// The only way in which a program that will be hostile is started; Program (program.h) is for the operator's own.
// Nothing outside this folder calls exec (I1).
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
  int signal = 0;  // The signal that killed it, or 0.

  bool DeniedSyscall() const;  // Seccomp killed it.
};

class Child {
 public:
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  // Becomes readable when the child ends; for event loops. Wait() then does not block.
  const UniqueFd& pidfd() const { return pidfd_; }

  // SIGKILL; takes the whole pid namespace along. Harmless when the child has ended.
  void Kill() const;
  // Whether a signal has stopped it. It goes on by another one, or when killed.
  bool IsStopped() const;
  // Blocks until the child ended, reaps it and says how; the same answer every time after that.
  Result<Exit> Wait();
  // As Wait(), but gives up after `timeout` with nullopt. Zero asks without waiting.
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

struct SpawnSpec {
  Tier tier = Tier::kNamespace;
  // A static ELF program, open for reading. Must be executable by others when the host is root,
  // because the child runs under an id of its own (identity.h).
  const UniqueFd* program = nullptr;
  std::vector<std::string> argv = {};  // Including argv[0]. The environment is empty.
  // Become 3, 4, 5... in this order. Everything else is closed. Directories are refused: one would
  // be a door back into the host's files.
  std::vector<const UniqueFd*> descriptors = {};
  // Becomes descriptor 2; null: /dev/null. Give a pipe, not a file: Enter() forbids growing files.
  const UniqueFd* log = nullptr;
  std::optional<int> cpu = {};  // Pin to this core.
};

// Returns once the program runs; nothing is left behind on failure. An unavailable tier is an error
// that names the step and the setting, never a weaker start (I12).
Result<Child> Spawn(const SpawnSpec& spec);

}  // namespace caisson::jail
