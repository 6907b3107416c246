#include "jail/newborn.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "jail/signals.h"
#include "jail/walls.h"

// Raw system calls only: glibc's wrappers for setuid and similar calls synchronise with threads
// that do not exist here, and sanitizers intercept many others.
namespace caisson::jail {
namespace {

constexpr std::array kStepNames = {
    "wait for the parent",
    "start a session",
    "reset the personality",
    "reset signals",
    "pin to a core",
    "drop the bounding set",
    "drop groups",
    "switch the gid",
    "switch the uid",
    "set no_new_privs",
    "hand down two capabilities",
    "set the death signal",
    "pass descriptors",
    "execute the program",
};

bool IsKept(Tier tier, int capability) {
  return tier == Tier::kNamespace && (capability == CAP_SYS_ADMIN || capability == CAP_SETPCAP);
}

}  // namespace

std::string_view ToString(Step step) {
  const auto index = static_cast<std::size_t>(step);
  return index < kStepNames.size() ? kStepNames[index] : "an unknown step";
}

void Newborn::Run() {
  // For the wait below: we hold a copy of the socket's other end, so without this the wait would
  // never end.
  DieWithParent();
  AwaitGo();
  LeaveSession();
  if (plan_.tier == Tier::kNamespace) ForgetHostName();
  Must(Step::kSignals, ResetSignals());
  if (plan_.pin) {
    Must(Step::kAffinity, ::syscall(SYS_sched_setaffinity, 0, sizeof plan_.cpus, &plan_.cpus));
  }
  if (!plan_.outlives) {
    DropBoundingSet();
    SwitchIds();
  }
  Must(Step::kNoNewPrivileges, ::syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  if (plan_.tier == Tier::kNamespace) KeepTwoCapabilities();
  if (plan_.outlives) {
    OutliveParent();
  } else {
    DieWithParent();  // Again, because changing ids or capabilities clears it.
  }
  PlaceDescriptors();
  Exec();
}

void Newborn::Fail(Step step, int error_number) const {
  const Failure failure{step, error_number};
  ::syscall(SYS_write, report_, &failure, sizeof failure);
  ::syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

void Newborn::Must(Step step, long result) const {
  if (result < 0) Fail(step, errno);
}

// Until the parent has written our id maps, this process has no valid id and cannot enter a jail.
void Newborn::AwaitGo() const {
  char go = 0;
  const long got = ::syscall(SYS_read, plan_.control, &go, 1);
  if (got != 1) Fail(Step::kWaitForParent, got < 0 ? errno : EPIPE);
}

void Newborn::LeaveSession() const {
  // Without a terminal, no keystrokes can be pushed into one.
  Must(Step::kSession, ::syscall(SYS_setsid));
  // An inherited READ_IMPLIES_EXEC would make every readable page executable. An inherited
  // ADDR_NO_RANDOMIZE would make its address predictable.
  Must(Step::kPersonality, ::syscall(SYS_personality, 0));
}

// A new UTS namespace is a copy, so code inside could read the host's names. The names are no way
// out. So if a container refuses these two calls, the start continues, and PutHostName() reports
// it.
void Newborn::ForgetHostName() {
  ::syscall(SYS_sethostname, kJailHostName.data(), kJailHostName.size());
  ::syscall(SYS_setdomainname, "", 0);
}

// Outside our own user namespace this needs CAP_SETPCAP, which an ordinary user lacks. The bounding
// set does not matter then, because no_new_privs already prevents exec from granting anything.
void Newborn::DropBoundingSet() const {
  for (int capability = 0; capability < 64; ++capability) {
    if (IsKept(plan_.tier, capability)) continue;
    if (::syscall(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
    if (errno == EINVAL) return;  // After the kernel's last capability.
    if (errno == EPERM && plan_.tier != Tier::kNamespace) return;
    Fail(Step::kBoundingSet, errno);
  }
}

void Newborn::SwitchIds() const {
  if (!plan_.ids.chosen) return;
  const bool inside = plan_.tier == Tier::kNamespace;
  const uid_t uid = inside ? kInsideId : plan_.ids.host_uid;
  const gid_t gid = inside ? kInsideId : plan_.ids.host_gid;
  Must(Step::kGroups, ::syscall(SYS_setgroups, 0, nullptr));
  Must(Step::kGid, ::syscall(SYS_setresgid, gid, gid, gid));
  Must(Step::kUid, ::syscall(SYS_setresuid, uid, uid, uid));
}

// In its own user namespace the child has every capability, none of which is valid outside. Two are
// kept across the exec for Enter(): one to swap the root, one to drop the rest.
void Newborn::KeepTwoCapabilities() const {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  const std::uint32_t kept = (1U << CAP_SYS_ADMIN) | (1U << CAP_SETPCAP);
  data[0] = {.effective = kept, .permitted = kept, .inheritable = kept};
  Must(Step::kCapabilities, ::syscall(SYS_capset, &header, data.data()));
  for (int capability : {CAP_SYS_ADMIN, CAP_SETPCAP}) {
    Must(Step::kCapabilities,
         ::syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0));
  }
}

// If the parent died before the setting took effect, no signal will come. Its pidfd shows that
// (getppid is 0 in a new pid namespace).
void Newborn::DieWithParent() const {
  Must(Step::kParentDeath, ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
  pollfd parent{.fd = plan_.parent, .events = POLLIN, .revents = 0};
  const timespec now{};
  const long ended = ::syscall(SYS_ppoll, &parent, 1, &now, nullptr, 0);
  Must(Step::kParentDeath, ended);
  if (ended != 0) Fail(Step::kParentDeath, ESRCH);
}

void Newborn::OutliveParent() const {
  Must(Step::kParentDeath, ::syscall(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0));
}

void Newborn::PlaceDescriptors() {
  Must(Step::kDescriptors, ::syscall(SYS_dup2, plan_.null, STDIN_FILENO));
  Must(Step::kDescriptors, ::syscall(SYS_dup2, plan_.null, STDOUT_FILENO));
  Must(Step::kDescriptors, ::syscall(SYS_dup2, plan_.log, STDERR_FILENO));
  int next = kFirstPassed;
  for (int source : plan_.passed) Must(Step::kDescriptors, ::syscall(SYS_dup2, source, next++));
  program_ = next++;
  Must(Step::kDescriptors, ::syscall(SYS_dup3, plan_.program, program_, O_CLOEXEC));
  Must(Step::kDescriptors, ::syscall(SYS_dup3, plan_.control, next, O_CLOEXEC));
  report_ = next++;
  Must(Step::kDescriptors, ::syscall(SYS_close_range, next, ~0U, 0));
}

void Newborn::Exec() const {
  const std::array<char*, 1> environment = {nullptr};  // I1: empty.
  // If the control socket ends after this message, the program runs. If it ends without the
  // message, this process died.
  const Failure none{Step::kExec, 0};
  ::syscall(SYS_write, report_, &none, sizeof none);
  ::syscall(SYS_execveat, program_, "", plan_.argv.data(), environment.data(), AT_EMPTY_PATH);
  Fail(Step::kExec, errno);
}

}  // namespace caisson::jail
