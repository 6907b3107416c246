// Reproducible random bytes for runs that may be replayed: the ChaCha20 stream of a seed.
//
// Trust     The seed is the host's secret. The bytes that a guest has seen tell nothing about the
//           others.
// Threads   A value.
// Lifetime  A value. Only `position` must be saved besides the seed.
#pragma once

#include <cstdint>
#include <span>

namespace caisson::worker {

struct ChanceStream {
  std::uint8_t seed[32] = {};
  std::uint64_t position = 0;  // Bytes taken so far.

  void Fill(std::span<std::uint8_t> out);
};

}  // namespace caisson::worker
