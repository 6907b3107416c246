#include "engine/wasm/worker/chance.h"

#include <array>
#include <bit>
#include <cstring>

namespace caisson::worker {
namespace {

constexpr std::size_t kBlockBytes = 64;
using Block = std::array<std::uint32_t, 16>;

void QuarterRound(Block& x, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  x[d] = std::rotl(x[d] ^ (x[a] += x[b]), 16);
  x[b] = std::rotl(x[b] ^ (x[c] += x[d]), 12);
  x[d] = std::rotl(x[d] ^ (x[a] += x[b]), 8);
  x[b] = std::rotl(x[b] ^ (x[c] += x[d]), 7);
}

// Block `counter` of the stream, as in RFC 8439 with a 64-bit counter and a zero nonce.
Block MakeBlock(const std::uint8_t (&seed)[32], std::uint64_t counter) {
  Block start = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  std::memcpy(&start[4], seed, sizeof seed);
  start[12] = static_cast<std::uint32_t>(counter);
  start[13] = static_cast<std::uint32_t>(counter >> 32);
  Block x = start;
  for (int i = 0; i < 10; ++i) {
    QuarterRound(x, 0, 4, 8, 12);
    QuarterRound(x, 1, 5, 9, 13);
    QuarterRound(x, 2, 6, 10, 14);
    QuarterRound(x, 3, 7, 11, 15);
    QuarterRound(x, 0, 5, 10, 15);
    QuarterRound(x, 1, 6, 11, 12);
    QuarterRound(x, 2, 7, 8, 13);
    QuarterRound(x, 3, 4, 9, 14);
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += start[i];
  return x;
}

}  // namespace

void ChanceStream::Fill(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const Block block = MakeBlock(seed, position / kBlockBytes);
    const std::size_t skip = position % kBlockBytes;
    const std::size_t count = std::min(out.size(), kBlockBytes - skip);
    std::memcpy(out.data(), reinterpret_cast<const std::uint8_t*>(block.data()) + skip, count);
    position += count;
    out = out.subspan(count);
  }
}

}  // namespace caisson::worker
