#include "engine/native/nursery/control.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace caisson::nursery {
namespace {

template <typename T>
std::string_view AsBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

iovec Part(std::string_view bytes) {
  return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};  // Only read.
}

}  // namespace

Result<std::optional<wire::MakeCell>> Control::Receive() const {
  wire::MakeCell request{};
  ssize_t size = 0;
  do {
    size = ::recv(socket_.get(), &request, sizeof request, MSG_TRUNC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return Error::FromErrno(errno, "receive from the host");
  if (size == 0) return std::optional<wire::MakeCell>();
  if (size != sizeof request || !wire::IsKnown(request.kind)) {
    return Error(ErrorCode::kInvalidArgument, "a packet from the host makes no sense");
  }
  return std::optional(request);
}

Result<void> Control::SendReady(std::string_view missing) const {
  const wire::NurseryReady ready{.kind = wire::FromNursery::kReady,
                                 .missing_length = static_cast<std::uint32_t>(missing.size())};
  return Send(AsBytes(ready), missing, {});
}

Result<void> Control::SendNews(wire::FromNursery kind, std::uint64_t cell, std::string_view text,
                               std::span<const int> descriptors) const {
  const wire::CellNews news{
      .kind = kind, .text_length = static_cast<std::uint32_t>(text.size()), .cell = cell};
  return Send(AsBytes(news), text, descriptors);
}

Result<void> Control::SendGone(const wire::CellGone& gone) const {
  return Send(AsBytes(gone), {}, {});
}

Result<void> Control::Send(std::string_view head, std::string_view text,
                           std::span<const int> descriptors) const {
  std::array<iovec, 2> parts = {Part(head), Part(text)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(wire::kCellDescriptors * sizeof(int))> control{};
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
    sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return Error::FromErrno(errno, "send to the host");
  return {};
}

}  // namespace caisson::nursery
