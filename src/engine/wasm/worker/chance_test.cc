#include "engine/wasm/worker/chance.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace caisson::worker {
namespace {

TEST(ChanceTest, IsTheChaCha20KeystreamOfTheZeroKey) {
  ChanceStream chance;
  std::array<std::uint8_t, 8> out{};
  chance.Fill(out);
  // RFC 8439, A.1, test vector 1.
  EXPECT_EQ(out, (std::array<std::uint8_t, 8>{0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90}));
}

TEST(ChanceTest, DoesNotDependOnHowItIsCutIntoPieces) {
  ChanceStream whole;
  whole.seed[3] = 7;
  std::vector<std::uint8_t> expected(200);
  whole.Fill(expected);

  ChanceStream pieces;
  pieces.seed[3] = 7;
  std::vector<std::uint8_t> got;
  for (std::size_t size : {1U, 63U, 64U, 65U, 7U}) {
    std::vector<std::uint8_t> part(size);
    pieces.Fill(part);
    got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(got, expected);
}

TEST(ChanceTest, GoesOnFromASavedPosition) {
  ChanceStream first;
  std::array<std::uint8_t, 100> skipped{};
  std::array<std::uint8_t, 16> expected{};
  first.Fill(skipped);
  ChanceStream second = first;
  first.Fill(expected);
  std::array<std::uint8_t, 16> got{};
  second.Fill(got);
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace caisson::worker
