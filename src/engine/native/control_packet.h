// Receives one packet of a fork server's control socket with its descriptors.
//
// Trust     The fork server forks hostile code. Its packets are decoded here only, and every length
//           and count is checked. Descriptors are owned from the moment they arrive, so none can
//           leak.
// Threads   One.
// Lifetime  A value that owns its descriptors.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/fork_server_messages.h"

namespace caisson {

struct ForkServerIsReady {
  bool copies = false;
  std::vector<std::string> missing;
};
struct CellIsBorn {
  std::uint64_t cell;
  UniqueFd pidfd;
};
struct CellIsPrepared {
  std::uint64_t cell;
  std::vector<UniqueFd>
      descriptors;  // In the order of wire::CellDescriptor, then layers; kFiles may be missing.
};
struct CellFailed {
  std::uint64_t cell;
  std::string why;
};
using ControlPacket =
    std::variant<ForkServerIsReady, CellIsBorn, CellIsPrepared, CellFailed, wire::CellGone>;

// Returns the next packet. nullopt: there is none now. Fails with kUnavailable if the other side
// has closed; any other error means that it broke the protocol.
Result<std::optional<ControlPacket>> ReceiveControl(int socket);

}  // namespace caisson
