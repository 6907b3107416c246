#include "engine/native/control_packet.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace caisson {
namespace {

using wire::FromNursery;

constexpr std::size_t kMaxMissingWalls = 64;
constexpr std::size_t kMaxDescriptors = wire::kCellDescriptors + wire::kMaxCellMounts;

struct Received {
  std::string_view bytes;
  std::vector<UniqueFd> descriptors;
};

Error Violation(const char* what) {
  return Error(ErrorCode::kInternal, std::string("the nursery broke the protocol: ") + what);
}

void TakeDescriptors(msghdr& message, std::vector<UniqueFd>& out) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      out.emplace_back(fd);
    }
  }
}

// The packet's fixed part, and the text that follows it: exactly as long as `length` of it says.
template <typename T>
Result<std::pair<T, std::string_view>> Split(std::string_view bytes) {
  T head;
  if (bytes.size() < sizeof head) return Violation("a short packet");
  std::memcpy(&head, bytes.data(), sizeof head);
  return std::pair(head, bytes.substr(sizeof head));
}

Result<ControlPacket> ParseReady(Received& received) {
  TRY_ASSIGN(auto parts, Split<wire::NurseryReady>(received.bytes));
  auto& [head, text] = parts;
  if (head.missing_length != text.size() || !received.descriptors.empty()) {
    return Violation("a bad ready packet");
  }
  NurseryIsReady ready;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) ready.missing.emplace_back(text.substr(0, end));
    if (ready.missing.size() > kMaxMissingWalls) return Violation("a bad ready packet");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ControlPacket(std::move(ready));
}

Result<ControlPacket> ParseNews(Received& received) {
  TRY_ASSIGN(const auto parts, Split<wire::CellNews>(received.bytes));
  const auto& [head, text] = parts;
  if (head.text_length != text.size()) return Violation("a packet of another length");
  auto& descriptors = received.descriptors;
  if (head.kind == FromNursery::kFailed) {
    if (!descriptors.empty()) return Violation("descriptors nobody asked for");
    return ControlPacket(CellFailed{.cell = head.cell, .why = std::string(text)});
  }
  if (!text.empty()) return Violation("text nobody asked for");
  if (head.kind == FromNursery::kBorn) {
    if (descriptors.size() != 1) return Violation("a cell without its process");
    return ControlPacket(CellIsBorn{.cell = head.cell, .pidfd = std::move(descriptors[0])});
  }
  if (descriptors.size() < wire::kCellDescriptors - 1) {
    return Violation("a cell without its descriptors");
  }
  return ControlPacket(CellIsPrepared{.cell = head.cell, .descriptors = std::move(descriptors)});
}

Result<ControlPacket> ParseGone(Received& received) {
  TRY_ASSIGN(const auto parts, Split<wire::CellGone>(received.bytes));
  const auto& [gone, rest] = parts;
  if (!rest.empty() || !received.descriptors.empty() || gone.signal < 0 || gone.signal > 64) {
    return Violation("a bad end of a cell");
  }
  return ControlPacket(gone);
}

Result<ControlPacket> Parse(Received received) {
  FromNursery kind{};
  if (received.bytes.size() < sizeof kind) return Violation("a short packet");
  std::memcpy(&kind, received.bytes.data(), sizeof kind);
  switch (kind) {
    case FromNursery::kReady:
      return ParseReady(received);
    case FromNursery::kBorn:
    case FromNursery::kPrepared:
    case FromNursery::kFailed:
      return ParseNews(received);
    case FromNursery::kGone:
      return ParseGone(received);
  }
  return Violation("an unknown packet");
}

}  // namespace

Result<std::optional<ControlPacket>> ReceiveControl(int socket) {
  static thread_local std::array<char, wire::kMaxControlBytes> buffer;
  // Room for one descriptor more than there may be; the kernel closes what does not fit, and says so.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * (kMaxDescriptors + 1))> rights;
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = rights.data();
  message.msg_controllen = rights.size();
  const ssize_t n = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    return std::optional<ControlPacket>();
  }
  if (n < 0) return Error(ErrorCode::kUnavailable, "its control socket failed");
  Received received{.bytes = {buffer.data(), static_cast<std::size_t>(n)}, .descriptors = {}};
  TakeDescriptors(message, received.descriptors);
  if (n == 0) return Error(ErrorCode::kUnavailable, "it closed its control socket");
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return Violation("a packet is too long");
  TRY_ASSIGN(ControlPacket packet, Parse(std::move(received)));
  return std::optional(std::move(packet));
}

}  // namespace caisson
