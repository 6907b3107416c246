// Newborn is the code that a child runs between clone and exec: it sets up what the Plan says and
// nothing more.
//
// Trust     Privileged. Runs as a copy of the host, including its secrets, until the exec.
// Threads   Single-threaded, in a copy of a process that had threads, so any lock may be held for
//           ever. Therefore it uses neither the heap nor anything that locks; everything is
//           prepared beforehand.
// Lifetime  Run() does not return.
#pragma once

#include <sched.h>

#include <array>
#include <string_view>
#include <vector>

#include "jail/kernel_identity.h"
#include "jail/tier.h"

namespace caisson::jail {

// The steps of the child that can fail, in order.
enum class Step : int {
  kWaitForParent,
  kSession,
  kPersonality,
  kSignals,
  kAffinity,
  kBoundingSet,
  kGroups,
  kGid,
  kUid,
  kNoNewPrivileges,
  kCapabilities,
  kParentDeath,
  kDescriptors,
  kExec,
};

std::string_view ToString(Step step);

// The report of the child to the parent: the step that failed, or kExec and 0 directly before the
// exec.
struct Failure {
  Step step;
  int error_number;
};

inline constexpr int kFirstPassed = 3;

// Everything the child needs.
struct Plan {
  Tier tier = Tier::kNamespace;
  Ids ids;
  // These numbers are above those that the child assigns, so no dup2 can overwrite a later source.
  int control = -1;
  int parent = -1;
  int program = -1;
  int null = -1;
  int log = -1;
  std::vector<int> passed;
  std::vector<char*> argv;
  bool outlives = false;  // The parent; see Bond.
  bool pin = false;
  cpu_set_t cpus{};
};

class Newborn {
 public:
  explicit Newborn(const Plan& plan) : plan_(plan), report_(plan.control) {}

  [[noreturn]] void Run();

 private:
  [[noreturn]] void Fail(Step step, int error_number) const;
  void Must(Step step, long result) const;
  void AwaitGo() const;
  void LeaveSession() const;
  static void ForgetHostName();
  void DropBoundingSet() const;
  void SwitchIds() const;
  void KeepTwoCapabilities() const;
  void DieWithParent() const;
  void OutliveParent() const;
  void PlaceDescriptors();
  [[noreturn]] void Exec() const;

  const Plan& plan_;
  int report_;
  int program_ = -1;
};

}  // namespace caisson::jail
