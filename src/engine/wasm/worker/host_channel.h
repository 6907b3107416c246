// HostChannel is the worker's end of the two rings: it sends and receives messages and waits for
// them.
//
// Trust     The host is trusted, but the ring range-checks what it sends, and a host that breaks
//           the rules ends the worker. Guests wrote most of the content we send; only the sizes are
//           ours.
// Threads   The worker's only thread. TrySend may also be called from the timer's handler while
//           guest code runs, because no other call can be active then.
// Lifetime  Owns the mapping of the channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/frames.h"

namespace caisson::worker {

class HostChannel {
 public:
  static Result<HostChannel> Open(UniqueFd memory, UniqueFd notify);

  // Sends one frame; waits for space if the ring is full. `more`: the message continues in the
  // cell's next frame, which has the same kind. Frames of other cells may come between.
  void SendPart(wire::ToHost kind, std::uint64_t cell, std::string_view first,
                std::string_view second, bool more);

  // Sends one message, in several frames if it is long; waits for space if the ring is full.
  void Send(wire::ToHost kind, std::uint64_t cell, std::string_view first,
            std::string_view second = {});

  // Sends one frame of at most kMaxFramePayload if there is space now. Returns whether it was sent.
  bool TrySend(wire::ToHost kind, std::uint64_t cell, std::string_view first,
               std::string_view second = {});

  // Returns the next frame from the host. nullopt: none.
  std::optional<wire::Frame> Next();
  bool has_next() const { return !reader_.empty(); }

  // Sleeps until the host has sent something or the timeout is over (negative: no timeout).
  void Wait(std::int64_t timeout_ns);

  const UniqueFd& notify_fd() const { return notify_; }

 private:
  HostChannel(UniqueFd notify, wire::ChannelLayout& layout, std::uint8_t* rings);
  void Notify();
  bool Watch(std::int64_t time_ns) const;

  UniqueFd notify_;
  const std::atomic<std::uint32_t>& host_watches_;
  wire::RingReader reader_;
  wire::RingWriter writer_;
};

}  // namespace caisson::worker
