// Packets with descriptors over a Unix socket that preserves packet boundaries (SOCK_SEQPACKET).
//
// Trust     The peer may be hostile. Received descriptors are owned from the moment of arrival, so
//           they are always closed. The caller checks the meaning of the bytes.
// Threads   Has none of its own. Sending does not allocate, so a child made by a bare clone may
//           send.
// Lifetime  Keeps nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace caisson {

inline constexpr std::size_t kMaxPacketDescriptors = 32;

struct Packet {
  int error = 0;             // An errno; the other fields are then empty.
  std::string_view bytes{};  // In the caller's buffer. Empty: the peer has closed its end.
  std::vector<UniqueFd> descriptors{};
  // Bytes or descriptors did not fit; the kernel has closed those descriptors.
  bool is_cut = false;
};

// `flags` as for recvmsg. Retries after EINTR.
Packet ReceivePacket(int socket, std::span<char> buffer, int flags = 0);

// Sends `head` and `rest` as one packet. Returns 0 or an errno.
int SendPacket(int socket, std::string_view head, std::string_view rest,
               std::span<const int> descriptors, int flags = 0);

}  // namespace caisson
