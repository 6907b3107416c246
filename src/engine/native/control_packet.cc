#include "engine/native/control_packet.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/packet.h"

namespace caisson {
namespace {

using wire::FromForkServer;

constexpr std::size_t kMaxMissingWalls = 64;

Error Violation(const char* what) {
  return Error(ErrorCode::kInternal, std::string("the fork server broke the protocol: ") + what);
}

// Splits the packet into its fixed part and the text that follows, whose length must match
// `length`.
template <typename T>
Result<std::pair<T, std::string_view>> Split(std::string_view bytes) {
  T head;
  if (bytes.size() < sizeof head) return Violation("a short packet");
  std::memcpy(&head, bytes.data(), sizeof head);
  return std::pair(head, bytes.substr(sizeof head));
}

Result<ControlPacket> ParseReady(Packet& received) {
  TRY_ASSIGN(auto parts, Split<wire::ForkServerReady>(received.bytes));
  auto& [head, text] = parts;
  if (head.missing_length != text.size() || !received.descriptors.empty()) {
    return Violation("a bad ready packet");
  }
  ForkServerIsReady ready;
  ready.copies = head.copies != 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) ready.missing.emplace_back(text.substr(0, end));
    if (ready.missing.size() > kMaxMissingWalls) return Violation("a bad ready packet");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ControlPacket(std::move(ready));
}

Result<ControlPacket> ParseNews(Packet& received) {
  TRY_ASSIGN(const auto parts, Split<wire::CellNews>(received.bytes));
  const auto& [head, text] = parts;
  if (head.text_length != text.size()) return Violation("a packet of another length");
  auto& descriptors = received.descriptors;
  if (head.kind == FromForkServer::kFailed) {
    if (!descriptors.empty()) return Violation("descriptors nobody asked for");
    return ControlPacket(CellFailed{.cell = head.cell, .why = std::string(text)});
  }
  if (!text.empty()) return Violation("text nobody asked for");
  if (head.kind == FromForkServer::kBorn) {
    if (descriptors.size() != 1) return Violation("a cell without its process");
    return ControlPacket(CellIsBorn{.cell = head.cell, .pidfd = std::move(descriptors[0])});
  }
  if (descriptors.size() < wire::kCellDescriptors - 1) {
    return Violation("a cell without its descriptors");
  }
  return ControlPacket(CellIsPrepared{.cell = head.cell, .descriptors = std::move(descriptors)});
}

Result<ControlPacket> ParseGone(Packet& received) {
  TRY_ASSIGN(const auto parts, Split<wire::CellGone>(received.bytes));
  const auto& [gone, rest] = parts;
  if (!rest.empty() || !received.descriptors.empty() || gone.signal < 0 || gone.signal > 64) {
    return Violation("a bad end of a cell");
  }
  return ControlPacket(gone);
}

Result<ControlPacket> Parse(Packet received) {
  FromForkServer kind{};
  if (received.bytes.size() < sizeof kind) return Violation("a short packet");
  std::memcpy(&kind, received.bytes.data(), sizeof kind);
  switch (kind) {
    case FromForkServer::kReady:
      return ParseReady(received);
    case FromForkServer::kBorn:
    case FromForkServer::kPrepared:
    case FromForkServer::kFailed:
      return ParseNews(received);
    case FromForkServer::kGone:
      return ParseGone(received);
  }
  return Violation("an unknown packet");
}

}  // namespace

Result<std::optional<ControlPacket>> ReceiveControl(int socket) {
  static thread_local std::array<char, wire::kMaxControlBytes> buffer;
  Packet received = ReceivePacket(socket, buffer, MSG_DONTWAIT);
  if (received.error == EAGAIN || received.error == EWOULDBLOCK)
    return std::optional<ControlPacket>();
  if (received.error != 0) return Error(ErrorCode::kUnavailable, "its control socket failed");
  if (received.bytes.empty()) return Error(ErrorCode::kUnavailable, "it closed its control socket");
  if (received.is_cut) return Violation("a packet is too long");
  TRY_ASSIGN(ControlPacket packet, Parse(std::move(received)));
  return std::optional(std::move(packet));
}

}  // namespace caisson
