// A DecodeBudget counts the memory that decoding takes, up to a limit.
//
// One byte on the wire, or five in JSON, can become a Value of 40 bytes, so a limit on the message
// size alone is not enough. Decoders charge memory before they allocate it and fail with
// kResourceExhausted above the limit.
//
// Trust     Charged with amounts that an attacker chose; they cannot overflow.
// Threads   Belongs to one decoder.
// Lifetime  A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "base/result.h"

namespace caisson {

// The limit for one decoded message of a cell, a client or a tool.
inline constexpr std::size_t kMaxDecodedBytes = 16u << 20;
// For data that this program wrote itself, within bounds.
inline constexpr std::size_t kAnyDecodedBytes = std::numeric_limits<std::size_t>::max();
// The largest number of keys in one dict or JSON object.
inline constexpr std::size_t kMaxDictKeys = 100'000;

class DecodeBudget {
 public:
  explicit DecodeBudget(std::size_t limit_bytes = kMaxDecodedBytes) : limit_bytes_(limit_bytes) {}

  // The bytes charged so far; more than the limit after a failure.
  std::size_t used_bytes() const { return used_bytes_; }

  // Charges one allocation of `count` items of `unit_bytes` each.
  Result<void> ChargeItems(std::size_t count, std::size_t unit_bytes) {
    if (count == 0) return {};
    if (count > (kAnyDecodedBytes - kAllocationBytes) / unit_bytes) return Charge(kAnyDecodedBytes);
    return Charge(count * unit_bytes + kAllocationBytes);
  }
  // Charges a text of this size.
  Result<void> ChargeText(std::size_t size) {
    return size <= kInlineText ? Result<void>() : Charge(size + kAllocationBytes);
  }

  static Result<void> CheckKeys(std::size_t count) {
    if (count <= kMaxDictKeys) return {};
    return Exhausted("a dict has more than " + std::to_string(kMaxDictKeys) +
                     " keys; split it, or send a list of pairs");
  }

 private:
  static constexpr std::size_t kInlineText = 15;       // std::string stores this many bytes inline.
  static constexpr std::size_t kAllocationBytes = 16;  // The allocator's overhead.

  static Error Exhausted(std::string message) {
    return Error(ErrorCode::kResourceExhausted, std::move(message));
  }

  Result<void> Charge(std::size_t bytes) {
    used_bytes_ = bytes > kAnyDecodedBytes - used_bytes_ ? kAnyDecodedBytes : used_bytes_ + bytes;
    if (used_bytes_ <= limit_bytes_) return {};
    return Exhausted(
        "the value takes more than " + std::to_string(limit_bytes_) +
        " bytes of the host's memory once it is decoded (40 for each item); send it in "
        "parts, or as one str or bytes");
  }

  std::size_t limit_bytes_;
  std::size_t used_bytes_ = 0;
};

}  // namespace caisson
