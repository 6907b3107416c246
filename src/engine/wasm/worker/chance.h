// Randomness that can be had again: the ChaCha20 stream of a seed, for runs that may be replayed.
//
// Trust     The seed is the host's secret; what a guest has seen of the stream tells nothing of the rest.
// Threads   A value.
// Lifetime  A value; `position` is all that must be saved besides the seed.
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
