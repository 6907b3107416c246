// A Minder is the process between us and a program we run: it starts the program, waits for its end, and then
// ends whatever the program has left behind, daemons included.
//
// Orphans come to it rather than to init (it is a subreaper), so that it can find and kill them, generation
// by generation, until it has no child. It does so when the program has ended, when we ask (Program::Kill), and
// when we die, because either of these closes its control socket.
//
// Trust     Runs as a copy of the host until it ends, but holds no descriptor of ours except its own.
// Threads   Single-threaded, in a copy of a process that had threads; see newborn.h for what that forbids.
// Lifetime  Run() does not return.
#pragma once

#include <vector>

namespace caisson::jail {

// What the program does between clone and exec, as far as it can fail.
enum class ProgramStep : int { kPrepare, kDirectory, kExec };

// How it ended, in one packet on the control socket; the first one counts.
struct ProgramEnd {
  int error_number = 0;  // If not 0: it never ran, because this step failed.
  ProgramStep step = ProgramStep::kPrepare;
  int status = 0;
  int signal = 0;
};

struct MinderPlan {
  // Numbered kFirstFree or above, so that placing one cannot hit a later one.
  int control = -1;
  int input = -1;
  int output = -1;
  int errors = -1;
  const char* path = nullptr;
  const char* directory = nullptr;  // Null: ours.
  std::vector<char*> argv;
  std::vector<char*> environment;

  static constexpr int kFirstFree = 16;
};

class Minder {
 public:
  explicit Minder(const MinderPlan& plan) : plan_(plan) {}

  [[noreturn]] void Run();

 private:
  void PlaceDescriptors() const;
  void Start();
  [[noreturn]] void Become() const;
  [[noreturn]] void Fail(ProgramStep step) const;
  ProgramEnd AwaitEnd() const;
  void KillRest() const;
  bool KillChildren() const;

  const MinderPlan& plan_;
  int program_ = -1;  // Pid, and the leader of its session and group.
  int ended_ = -1;    // Its pidfd.
};

}  // namespace caisson::jail
