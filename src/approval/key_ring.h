// A KeyRing holds the host's keys: the newest seals, all of them open what was sealed.
//
//   caisson.keys       64 hexadecimal digits a line, oldest first; `#` begins a comment
//
// To change keys, append a line; drop the first one when nothing sealed with it is wanted any more. Several replicas
// must all know a key before one of them seals with it: first put it before the last line everywhere, then last.
//
// What is sealed for one purpose opens for no other one: each has a key of its own, derived from the line.
//
// Trust     Files that others may read or write are refused. What is opened is hostile until it is open.
// Threads   Immutable.
// Lifetime  A value; keys wipe themselves. Workers never see one.
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
  // One fresh key, which nobody else has.
  static KeyRing Generate();
  // As the file above, but separators may be commas and blanks too: for environment variables.
  static Result<KeyRing> Parse(std::string_view text);
  static Result<KeyRing> Load(const std::string& path);
  // As Load; a file that is not there is made first, for its owner alone. Of several processes that do so at once
  // one makes it and all load it. It is durable before anything is sealed with it.
  static Result<KeyRing> LoadOrCreate(const std::string& path);

  // `bound_to` must be injective; it is not stored and has to be said again to open.
  Result<std::string> Seal(KeyPurpose purpose, std::string_view bound_to,
                           std::string_view text) const;
  // kInvalidArgument: changed, cut, of another purpose, or bound to something else; which of them is not told.
  // kFailedPrecondition: sealed with a key that is not on the ring.
  Result<std::string> Open(KeyPurpose purpose, std::string_view bound_to,
                           std::string_view sealed) const;

  // The same for saved cells, whose binding is that of engine/seal.h. kFailedPrecondition means: replay the run,
  // because another build saved it or its key is gone.
  Result<std::string> SealCell(const SealBinding& binding, const SavedCell& cell) const;
  Result<SavedCell> OpenCell(const SealBinding& binding, std::string_view sealed) const;

  // Newest first. An id is 16 hexadecimal digits and tells nothing about its key.
  std::vector<std::string> Ids() const;

 private:
  struct Key {
    std::string id;  // 8 bytes, at the front of whatever it sealed.
    AeadKey secret;
  };

  explicit KeyRing(std::span<const AeadKey> oldest_first);
  const Key& newest() const { return keys_.back(); }
  Result<std::pair<const Key*, std::string_view>> Find(std::string_view sealed) const;

  std::vector<Key> keys_;  // At least one.
};

}  // namespace caisson
