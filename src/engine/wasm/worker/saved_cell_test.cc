#include "engine/wasm/worker/saved_cell.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace caisson::worker {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::span<const std::uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class SavedCellTest : public testing::Test {
 protected:
  SavedCellTest() {
    fields_.parked = true;
    fields_.wall_ns = 7;
    fields_.calls = 3;
    fields_.wait_seq = 2;
    fields_.open_calls = {2};
    fields_.answers = {{1, "answer"}};
    fields_.messages = {"message"};
    fields_.inputs = {{"/input/a", "contents"}};
    fields_.files = Bytes("files");
    fields_.wasm_pages = 4;
    fields_.stack_global = 1000;
    fields_.stack_pointer = 0x1000;
    fields_.stack = Bytes("stack");
    EncodeSaved(identity_, fields_, blob_);
  }

  const std::array<std::uint8_t, 20> build_id_{1, 2, 3};
  const std::array<std::uint8_t, 32> base_hash_{4, 5, 6};
  const SavedIdentity identity_{build_id_, base_hash_};
  SavedFields fields_;
  std::string blob_;
};

TEST_F(SavedCellTest, ComesBackAsItWas) {
  auto decoded = DecodeSaved(identity_, Bytes(blob_));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_TRUE(decoded->parked);
  EXPECT_EQ(decoded->wall_ns, 7U);
  EXPECT_EQ(decoded->open_calls, fields_.open_calls);
  EXPECT_EQ(decoded->answers, fields_.answers);
  EXPECT_EQ(decoded->messages, fields_.messages);
  EXPECT_EQ(decoded->inputs, fields_.inputs);
  EXPECT_EQ(decoded->stack.size(), 5U);
  EXPECT_TRUE(decoded->pages.empty());
}

TEST_F(SavedCellTest, ACellOfAnotherBuildIsRefusedWithThatReason) {
  std::array<std::uint8_t, 20> other = build_id_;
  other[19] ^= 1;
  auto decoded = DecodeSaved({other, base_hash_}, Bytes(blob_));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_NE(decoded.error().message().find("another build"), std::string::npos);
}

TEST_F(SavedCellTest, CutOffAnywhereIsRefused) {
  for (std::size_t size = 0; size < blob_.size(); ++size) {
    EXPECT_FALSE(DecodeSaved(identity_, Bytes(blob_).first(size))) << size;
  }
}

TEST_F(SavedCellTest, WithACallThatWasNeverMadeIsRefused) {
  fields_.open_calls = {3};
  std::string blob;
  EncodeSaved(identity_, fields_, blob);
  EXPECT_FALSE(DecodeSaved(identity_, Bytes(blob)));
}

class ChangedPagesTest : public testing::Test {
 protected:
  std::vector<std::uint8_t> before_ = std::vector<std::uint8_t>(3 * kPageBytes, 9);
  std::vector<std::uint8_t> after_ = before_;
};

TEST_F(ChangedPagesTest, HoldOnlyTheBlocksThatDiffer) {
  after_[kPageBytes + 100] = 1;
  after_[3 * kPageBytes - 1] = 2;
  std::string delta;
  for (std::uint32_t page = 0; page < 3; ++page) {
    AppendChangedPage(page, &after_[page * kPageBytes], &before_[page * kPageBytes], delta);
  }
  EXPECT_EQ(delta.size(), 2 * (4 + 8 + 64U));
  ASSERT_TRUE(ApplyChangedPages(Bytes(delta), before_));
  EXPECT_EQ(before_, after_);
}

TEST_F(ChangedPagesTest, OutsideTheMemoryAreRefused) {
  after_[2 * kPageBytes] = 1;
  std::string delta;
  AppendChangedPage(2, &after_[2 * kPageBytes], &before_[2 * kPageBytes], delta);
  EXPECT_FALSE(ApplyChangedPages(Bytes(delta), std::span(before_).first(2 * kPageBytes)));
  EXPECT_FALSE(ApplyChangedPages(Bytes(delta + delta), before_)) << "the same page twice";
  EXPECT_FALSE(ApplyChangedPages(Bytes(delta).first(delta.size() - 1), before_));
}

}  // namespace
}  // namespace caisson::worker
