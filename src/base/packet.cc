#include "base/packet.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace caisson {
namespace {

using Control = std::array<char, CMSG_SPACE(sizeof(int) * kMaxPacketDescriptors)>;

iovec Part(std::string_view bytes) {
  // iov_base is only read.
  return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
}

std::vector<UniqueFd> TakeDescriptors(msghdr& message) {
  std::vector<UniqueFd> taken;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      taken.emplace_back(fd);
    }
  }
  return taken;
}

}  // namespace

Packet ReceivePacket(int socket, std::span<char> buffer, int flags) {
  alignas(cmsghdr) Control control;
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return {.error = errno};
  return {.bytes = {buffer.data(), static_cast<std::size_t>(size)},
          .descriptors = TakeDescriptors(message),
          .is_cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0};
}

int SendPacket(int socket, std::string_view head, std::string_view rest,
               std::span<const int> descriptors, int flags) {
  if (descriptors.size() > kMaxPacketDescriptors) return EINVAL;
  std::array<iovec, 2> parts = {Part(head), Part(rest)};
  alignas(cmsghdr) Control control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? errno : 0;
}

}  // namespace caisson
