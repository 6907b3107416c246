#include "engine/native/forkserver/control.h"

#include <array>
#include <cstring>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>

#include "base/packet.h"

namespace caisson::forkserver {
namespace {

static_assert(wire::kCellDescriptors + wire::kMaxCellMounts <= kMaxPacketDescriptors);

template <typename T>
std::string_view AsBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Error Senseless() {
  return Error(ErrorCode::kInvalidArgument, "the packet from the host is invalid");
}

template <typename T>
bool Take(std::string_view& bytes, T& out) {
  if (bytes.size() < sizeof out) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  bytes.remove_prefix(sizeof out);
  return true;
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
  Packet packet = ReceivePacket(socket_.get(), buffer);
  if (packet.error != 0) return Error::FromErrno(packet.error, "receive from the host");
  if (packet.bytes.empty()) return std::optional<CellRequest>();
  if (packet.is_cut) return Senseless();
  TRY_ASSIGN(CellRequest request, Parse(packet.bytes, std::move(packet.descriptors)));
  return std::optional(std::move(request));
}

Result<void> Control::SendReady(std::string_view missing, Copies copies) const {
  const wire::ForkServerReady ready{.kind = wire::FromForkServer::kReady,
                                    .missing_length = static_cast<std::uint32_t>(missing.size()),
                                    .copies = copies == Copies::kAny ? 1u : 0u};
  return Send(AsBytes(ready), missing, {});
}

Result<void> Control::SendNews(wire::FromForkServer kind, std::uint64_t cell, std::string_view text,
                               std::span<const int> descriptors) const {
  const wire::CellNews news{
      .kind = kind, .text_length = static_cast<std::uint32_t>(text.size()), .cell = cell};
  return Send(AsBytes(news), text, descriptors);
}

Result<void> Control::SendFailed(std::uint64_t cell, const Error& why) const {
  return SendNews(wire::FromForkServer::kFailed, cell, why.message(), {});
}

Result<void> Control::SendGone(const wire::CellGone& gone) const {
  return Send(AsBytes(gone), {}, {});
}

Result<void> Control::Send(std::string_view head, std::string_view text,
                           std::span<const int> descriptors) const {
  if (const int error = SendPacket(socket_.get(), head, text, descriptors); error != 0) {
    return Error::FromErrno(error, "send to the host");
  }
  return {};
}

}  // namespace caisson::forkserver
