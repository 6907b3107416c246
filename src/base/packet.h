// Packets over a Unix socket that keeps their borders (SOCK_SEQPACKET), with descriptors.
//
// Trust     The other end may be hostile. Whatever it sent along is owned here, and so closed, from the moment it
//           arrived; what the bytes mean is for the caller to check.
// Threads   None of its own. Sending takes no heap, so a child made by a bare clone may do it.
// Lifetime  Nothing is kept.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace caisson {

inline constexpr std::size_t kMaxPacketDescriptors = 32;

struct Packet {
  int error = 0;             // An errno; then there is nothing else.
  std::string_view bytes{};  // In the caller's buffer. Empty: the other end is closed.
  std::vector<UniqueFd> descriptors{};
  bool is_cut = false;  // Bytes or descriptors did not fit; the kernel has closed the latter.
};

// `flags` as recvmsg has them. Interrupted waits go on.
Packet ReceivePacket(int socket, std::span<char> buffer, int flags = 0);

// One packet of both parts. 0 or an errno.
int SendPacket(int socket, std::string_view head, std::string_view rest,
               std::span<const int> descriptors, int flags = 0);

}  // namespace caisson
