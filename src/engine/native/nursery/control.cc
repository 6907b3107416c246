#include "engine/native/nursery/control.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>

namespace caisson::nursery {
namespace {

constexpr std::size_t kMaxReceived = wire::kMaxCellGroups + wire::kMaxCellMounts;
constexpr std::size_t kMaxDescriptors = wire::kCellDescriptors + wire::kMaxCellMounts;

template <typename T>
std::string_view AsBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

iovec Part(std::string_view bytes) {
  return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};  // Only read.
}

Error Senseless() {
  return Error(ErrorCode::kInvalidArgument, "a packet from the host makes no sense");
}

template <typename T>
bool Take(std::string_view& bytes, T& out) {
  if (bytes.size() < sizeof out) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  bytes.remove_prefix(sizeof out);
  return true;
}

std::vector<UniqueFd> TakeDescriptors(msghdr& message) {
  std::vector<UniqueFd> taken;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return taken;
  const std::size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights) + i * sizeof fd, sizeof fd);
    taken.emplace_back(fd);
  }
  return taken;
}

Result<CellRequest> Parse(std::string_view bytes, std::vector<UniqueFd> descriptors) {
  CellRequest request;
  if (!Take(bytes, request.head) || !wire::IsKnown(request.head.kind) ||
      std::size_t{request.head.mounts} + request.head.groups != descriptors.size()) {
    return Senseless();
  }
  const auto trees = descriptors.begin() + request.head.groups;
  request.groups.assign(std::move_iterator(descriptors.begin()), std::move_iterator(trees));
  for (UniqueFd& tree : std::ranges::subrange(trees, descriptors.end())) {
    wire::MakeMount mount{};
    if (!Take(bytes, mount) || mount.path_length > bytes.size()) return Senseless();
    request.mounts.push_back({.path = std::string(bytes.substr(0, mount.path_length)),
                              .tree = std::move(tree),
                              .writable = mount.writable != 0,
                              .layer_bytes = mount.layer_bytes,
                              .layer_inodes = request.head.files});
    bytes.remove_prefix(mount.path_length);
  }
  if (!bytes.empty()) return Senseless();
  return request;
}

}  // namespace

Result<std::optional<CellRequest>> Control::Receive() const {
  static std::array<char, wire::kMaxControlBytes> buffer;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxReceived * sizeof(int))> rights{};
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = rights.data();
  message.msg_controllen = rights.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return Error::FromErrno(errno, "receive from the host");
  if (size == 0) return std::optional<CellRequest>();
  std::vector<UniqueFd> descriptors = TakeDescriptors(message);
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return Senseless();
  TRY_ASSIGN(CellRequest request,
             Parse({buffer.data(), static_cast<std::size_t>(size)}, std::move(descriptors)));
  return std::optional(std::move(request));
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
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
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
