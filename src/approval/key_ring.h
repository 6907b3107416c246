// A KeyRing holds the host's keys. The newest key seals; all of them open.
//
//   caisson.keys       64 hexadecimal digits a line, oldest first; `#` begins a comment
//
// To change keys, append a line. Remove the first line when nothing sealed with it is needed any
// more. Several replicas must all have a key before one of them seals with it: first add it before
// the last line everywhere, then make it the last line.
//
// Data sealed for one purpose does not open for another one: each purpose has its own key, derived
// from the line.
//
// Trust     Files that others may read or write are refused. Data to open is hostile until it is
//           opened.
// Threads   Immutable.
// Lifetime  A value; keys wipe themselves. Workers never see a key.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aead.h"
#include "base/result.h"
#include "engine/seal.h"

namespace caisson {

enum class KeyPurpose { kCell, kCheckpoint, kRequestState };

class KeyRing {
 public:
  // Returns one new random key.
  static KeyRing Generate();
  // Parses the format above. Commas and blanks also separate keys, for environment variables.
  static Result<KeyRing> Parse(std::string_view text);
  static Result<KeyRing> Load(const std::string& path);
  // Same as Load. A missing file is created first, readable by its owner only. If several processes
  // do so at once, one creates it and all load it. It is durable before anything is sealed with it.
  static Result<KeyRing> LoadOrCreate(const std::string& path);

  // `bound_to` must be injective. It is not stored and must be given again to open.
  Result<std::string> Seal(KeyPurpose purpose, std::string_view bound_to,
                           std::string_view text) const;
  // Fails with kInvalidArgument if the data was changed, cut, sealed for another purpose, or bound
  // to something else (the error does not say which), kFailedPrecondition if its key is not on the
  // ring.
  Result<std::string> Open(KeyPurpose purpose, std::string_view bound_to,
                           std::string_view sealed) const;

  // The same for saved cells, with the binding of engine/seal.h. Fails with kFailedPrecondition if
  // another build saved the cell or its key is gone; replay the run then.
  Result<std::string> SealCell(const SealBinding& binding, const SavedCell& cell) const;
  Result<SavedCell> OpenCell(const SealBinding& binding, std::string_view sealed) const;

  // Newest first. An id is 16 hexadecimal digits and reveals nothing about its key.
  std::vector<std::string> Ids() const;

 private:
  struct Key {
    std::string id;  // 8 bytes at the front of the sealed data.
    AeadKey secret;
  };

  explicit KeyRing(std::span<const AeadKey> oldest_first);
  const Key& newest() const { return keys_.back(); }
  Result<std::pair<const Key*, std::string_view>> Find(std::string_view sealed) const;

  std::vector<Key> keys_;  // At least one.
};

}  // namespace caisson
