// Sealing turns a saved cell into bytes that can be stored anywhere and taken back only by the owner,
// for the run and call it was saved in, by the build that saved it.
//
// A saved cell holds native return addresses, so whoever can forge one owns a worker. The key stays
// in the host; workers never see it.
//
// Trust     Sealed bytes are hostile until Unseal has accepted them: one changed bit anywhere, or any
//           other binding, and nothing of them is used.
// Threads   Pure.
// Lifetime  A SealKey wipes itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/aead.h"
#include "base/result.h"
#include "engine/engine.h"

namespace caisson {

using SealKey = AeadKey;

// What a sealed cell is bound to.
struct SealBinding {
  OwnerId owner;
  std::string run;
  std::uint32_t call_seq = 0;
  std::array<std::uint8_t, 20> build_id{};
  std::array<std::uint8_t, 32> base_hash{};
};

Result<std::string> Seal(const SealKey& key, const SealBinding& binding, const SavedCell& cell);

// kFailedPrecondition: intact as far as can be seen, but saved by another build; replay the run.
// kInvalidArgument: changed, cut, or not what this binding says; which of them is not told.
Result<SavedCell> Unseal(const SealKey& key, const SealBinding& binding, std::string_view sealed);

}  // namespace caisson
