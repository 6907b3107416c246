// Sealing encrypts a saved cell so that it can be stored anywhere and restored only by the same
// build, for the same owner, run and call.
//
// A saved cell holds native return addresses, so an attacker who can forge one controls a worker.
// The key stays in the host. Workers never see it.
//
// Trust     Sealed bytes are hostile until Unseal has accepted them. If one bit is changed, or the
//           binding differs, none of the bytes are used.
// Threads   Pure functions.
// Lifetime  A SealKey wipes itself when it is destroyed.
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

// The owner, run, call and build that a sealed cell is bound to.
struct SealBinding {
  OwnerId owner;
  std::string run;
  std::uint32_t call_seq = 0;
  std::array<std::uint8_t, 20> build_id{};
  std::array<std::uint8_t, 32> base_hash{};
};

Result<std::string> Seal(const SealKey& key, const SealBinding& binding, const SavedCell& cell);

// Fails with kFailedPrecondition if the bytes look intact but another build saved them; replay the
// run then. Fails with kInvalidArgument if they were changed, truncated or have another binding;
// the error does not tell which.
Result<SavedCell> Unseal(const SealKey& key, const SealBinding& binding, std::string_view sealed);

}  // namespace caisson
