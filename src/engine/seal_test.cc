#include "engine/seal.h"

#include <gtest/gtest.h>

namespace caisson {
namespace {

SealBinding Binding() {
  SealBinding binding{.owner = OwnerId("owner"), .run = "run_1", .call_seq = 3};
  binding.build_id.fill(7);
  binding.base_hash.fill(9);
  return binding;
}

const SavedCell kCell{"the stack and the changed memory"};

TEST(SealTest, OpensWithTheSameKeyAndBinding) {
  const SealKey key = SealKey::Random();
  auto sealed = Seal(key, Binding(), kCell);
  ASSERT_TRUE(sealed);
  auto cell = Unseal(key, Binding(), *sealed);
  ASSERT_TRUE(cell) << cell.error().message();
  EXPECT_EQ(cell->bytes, kCell.bytes);
}

TEST(SealTest, SealsAnEmptyCell) {
  const SealKey key = SealKey::Random();
  auto sealed = Seal(key, Binding(), SavedCell{});
  ASSERT_TRUE(sealed);
  auto cell = Unseal(key, Binding(), *sealed);
  ASSERT_TRUE(cell);
  EXPECT_EQ(cell->bytes, "");
}

TEST(SealTest, HidesTheContentAndNeverRepeats) {
  const SealKey key = SealKey::Random();
  const std::string one = *Seal(key, Binding(), kCell);
  EXPECT_EQ(one.find("stack"), std::string::npos);
  EXPECT_EQ(one.find("owner"), std::string::npos);
  EXPECT_NE(one, *Seal(key, Binding(), kCell));
}

TEST(SealTest, RefusesEveryChangedBit) {
  const SealKey key = SealKey::Random();
  const std::string sealed = *Seal(key, Binding(), kCell);
  for (std::size_t byte = 0; byte < sealed.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = sealed;
      changed[byte] = static_cast<char>(changed[byte] ^ (1 << bit));
      EXPECT_FALSE(Unseal(key, Binding(), changed)) << "byte " << byte << " bit " << bit;
    }
  }
}

TEST(SealTest, RefusesEveryCutAndAnyAddition) {
  const SealKey key = SealKey::Random();
  const std::string sealed = *Seal(key, Binding(), kCell);
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_FALSE(Unseal(key, Binding(), sealed.substr(0, size))) << size;
  }
  EXPECT_FALSE(Unseal(key, Binding(), sealed + "x"));
}

TEST(SealTest, RefusesAnotherKeyOwnerRunOrCallWithOneAnswer) {
  const SealKey key = SealKey::Random();
  const std::string sealed = *Seal(key, Binding(), kCell);
  auto answer = Unseal(SealKey::Random(), Binding(), sealed);
  ASSERT_FALSE(answer);
  const std::string refusal = answer.error().message();
  SealBinding owner = Binding();
  owner.owner = OwnerId("other");
  SealBinding run = Binding();
  run.run = "run_2";
  SealBinding call = Binding();
  call.call_seq = 4;
  for (const SealBinding& binding : {owner, run, call}) {
    auto refused = Unseal(key, binding, sealed);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), refusal);
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(SealTest, OwnerAndRunCannotBeShiftedIntoEachOther) {
  const SealKey key = SealKey::Random();
  SealBinding one = Binding();
  one.owner = OwnerId("ab");
  one.run = "c";
  SealBinding two = Binding();
  two.owner = OwnerId("a");
  two.run = "bc";
  EXPECT_FALSE(Unseal(key, two, *Seal(key, one, kCell)));
}

TEST(SealTest, SaysWhenAnotherBuildSavedIt) {
  const SealKey key = SealKey::Random();
  const std::string sealed = *Seal(key, Binding(), kCell);
  SealBinding build = Binding();
  build.build_id[0] = 0;
  auto refused = Unseal(key, build, sealed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
  SealBinding base = Binding();
  base.base_hash[31] = 0;
  EXPECT_EQ(Unseal(key, base, sealed).error().code(), ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace caisson
