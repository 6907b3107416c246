// A Channel is the memory that the host and one worker share: two rings and their positions.
//
// Trust     The worker may write anything anywhere in it at any time. Only wire/ring.h reads it.
//           The size is sealed, so the worker cannot make the host fault by shrinking it.
// Threads   Belongs to one worker's lane.
// Lifetime  Owns the mapping and the descriptor. The descriptor may be closed once it was passed
//           on.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/frames.h"

namespace caisson {

class Channel {
 public:
  static Result<Channel> Create();
  // Maps the same memory again, as a worker sees it.
  static Result<Channel> Map(const UniqueFd& memory);

  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  wire::ChannelLayout& layout() { return *reinterpret_cast<wire::ChannelLayout*>(bytes_); }
  std::span<std::uint8_t> to_worker() {
    return {bytes_ + wire::kChannelHeaderBytes, wire::kRingBytes};
  }
  std::span<std::uint8_t> to_host() {
    return {bytes_ + wire::kChannelHeaderBytes + wire::kRingBytes, wire::kRingBytes};
  }

  const UniqueFd& memory() const { return memory_; }
  void CloseDescriptor() { memory_ = UniqueFd(); }

 private:
  Channel(UniqueFd memory, std::uint8_t* bytes) : memory_(std::move(memory)), bytes_(bytes) {}

  UniqueFd memory_;
  std::uint8_t* bytes_ = nullptr;
};

}  // namespace caisson
