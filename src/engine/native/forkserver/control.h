// The fork server's end of the control socket (wire/fork_server_messages.h): packets, and
// descriptors with them.
//
// Trust     The host is trusted; its packets are checked even so.
// Threads   One. A forked cell sends its single packet over its copy of the socket.
// Lifetime  Owns the socket.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/attach.h"
#include "wire/fork_server_messages.h"

namespace caisson::forkserver {

// The host's request for a cell.
struct CellRequest {
  wire::MakeCell head{};
  std::vector<UniqueFd> groups{};
  std::vector<jail::Attachment> mounts{};
};

class Control {
 public:
  explicit Control(UniqueFd socket) : socket_(std::move(socket)) {}

  const UniqueFd& socket() const { return socket_; }

  // Returns the next request. nullopt: the host is gone.
  Result<std::optional<CellRequest>> Receive() const;

  // `copies`: whether cells can be saved and restored.
  enum class Copies { kNone, kAny };
  Result<void> SendReady(std::string_view missing, Copies copies) const;
  Result<void> SendNews(wire::FromForkServer kind, std::uint64_t cell, std::string_view text,
                        std::span<const int> descriptors) const;
  Result<void> SendFailed(std::uint64_t cell, const Error& why) const;
  Result<void> SendGone(const wire::CellGone& gone) const;

 private:
  Result<void> Send(std::string_view head, std::string_view text,
                    std::span<const int> descriptors) const;

  UniqueFd socket_;
};

}  // namespace caisson::forkserver
