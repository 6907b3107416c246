#include "engine/wasm/worker/files/masked_index.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace caisson::worker {
namespace {

TEST(MaskedIndex, AnIndexInRangeStaysAndAnyOtherBecomesZero) {
  for (const std::size_t index : {0U, 1U, 6U}) EXPECT_EQ(MaskedIndex(index, 7), index);
  for (const std::size_t index :
       {std::size_t{7}, std::size_t{8}, std::size_t{UINT32_MAX}, std::size_t{1} << 63, SIZE_MAX}) {
    EXPECT_EQ(MaskedIndex(index, 7), 0U) << index;
  }
  EXPECT_EQ(MaskedIndex(0, 0), 0U);
}

}  // namespace
}  // namespace caisson::worker
