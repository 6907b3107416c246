// A Minder is the process between us and a program we run. It starts the program, waits for its
// end, and then kills everything the program has left behind, including daemons.
//
// It is a subreaper: orphans become its children rather than those of init. So it can find and kill
// them, generation by generation, until it has no child. It does so when the program has ended,
// when we ask for it (Program::Kill), and when we die, because the latter two close its control
// socket.
//
// Trust     Runs as a copy of the host until it ends, but holds no descriptor of ours except its
//           own.
// Threads   Single-threaded, in a copy of a process that had threads; see newborn.h for the
//           restrictions.
// Lifetime  Run() does not return.
#pragma once

namespace caisson::jail {

// The steps between clone and exec that can fail.
enum class ProgramStep : int { kPrepare, kDirectory, kExec };

// How the program ended, as one packet on the control socket. The first packet counts.
struct ProgramEnd {
  int error_number = 0;  // Not 0: the program never ran, because this step failed.
  ProgramStep step = ProgramStep::kPrepare;
  int status = 0;
  int signal = 0;
};

struct MinderPlan {
  // Numbered kFirstFree or above, so that placing one descriptor cannot overwrite a later one.
  int control = -1;
  int input = -1;
  int output = -1;
  int errors = -1;
  const char* path = nullptr;
  const char* directory = nullptr;  // Null: the current directory.
  // Each ends with a null pointer.
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  // The creator's session has no terminal, so the minder and the program stay in it, each with a
  // process group of its own. Where the kernel divides the processor between sessions (autogroups),
  // many programs then count as one.
  bool stays_in_session = false;

  static constexpr int kFirstFree = 16;
};

class Minder {
 public:
  explicit Minder(const MinderPlan& plan) : plan_(plan) {}

  [[noreturn]] void Run();

 private:
  void LeaveGroup() const;
  void PlaceDescriptors() const;
  void Start();
  [[noreturn]] void Become() const;
  [[noreturn]] void Fail(ProgramStep step) const;
  ProgramEnd AwaitEnd() const;
  void KillRest() const;
  bool KillChildren() const;

  const MinderPlan& plan_;
  int program_ = -1;  // The pid; also the leader of its process group.
  int ended_ = -1;    // Its pidfd.
};

}  // namespace caisson::jail
