#include "jail/listener.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>

namespace caisson::jail {

std::optional<SyscallQuestion> SyscallListener::Receive() const {
  // Receiving blocks if there is no question.
  pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLIN) == 0) return std::nullopt;
  seccomp_notif asked{};
  if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return std::nullopt;
  SyscallQuestion question{
      .id = asked.id, .thread = static_cast<pid_t>(asked.pid), .number = asked.data.nr};
  std::copy(std::begin(asked.data.args), std::end(asked.data.args), question.arguments.begin());
  return question;
}

// An answer fails if the process has died meanwhile; this affects nobody.
void SyscallListener::Allow(const SyscallQuestion& question) const {
  seccomp_notif_resp answer{};
  answer.id = question.id;
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  static_cast<void>(::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer));
}

void SyscallListener::Refuse(const SyscallQuestion& question, int error_number) const {
  seccomp_notif_resp answer{};
  answer.id = question.id;
  answer.error = -error_number;
  static_cast<void>(::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer));
}

}  // namespace caisson::jail
