// The worker's end of the two rings: messages out, messages in, and the wait between them.
//
// Trust     The host is trusted, yet what it sends is range-checked by the ring; a host that breaks the
//           rules ends the worker. What we send was mostly written by guests: sizes only are ours.
// Threads   The worker's one thread. TrySend may also be called from the timer's handler while guest
//           code runs, since then no other call here can be under way.
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

  // Sends one frame; waits for room if the ring is full. `more`: the message goes on with the cell's
  // next frame, which is of the same kind. Frames of other cells may come between.
  void SendPart(wire::ToHost kind, std::uint64_t cell, std::string_view first,
                std::string_view second, bool more);

  // Sends one message, in several frames if it is long; waits for room if the ring is full.
  void Send(wire::ToHost kind, std::uint64_t cell, std::string_view first,
            std::string_view second = {});

  // Sends one frame of at most kMaxFramePayload if there is room now.
  bool TrySend(wire::ToHost kind, std::uint64_t cell, std::string_view first,
               std::string_view second = {});

  // The next frame from the host, or nothing.
  std::optional<wire::Frame> Next();
  bool has_next() const { return !reader_.empty(); }

  // Sleeps until the host has sent something or the time is over (negative: no limit).
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
