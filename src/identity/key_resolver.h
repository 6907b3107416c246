// Mode `keys`: bearer keys. Each key belongs to one identity.
//
// Trust     Keys are held as digests only. A presented key is compared with all of them in constant
//           time, so that timing reveals nothing about any key.
// Threads   Same as IdentityResolver.
// Lifetime  Same as IdentityResolver.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "identity/resolver.h"

namespace caisson {

struct BearerKey {
  Identity identity;
  Sha256Digest digest;
};

// Returns the digest of a key. Refuses short keys: a digest without salt protects only keys that
// cannot be guessed.
Result<Sha256Digest> DigestOfKey(std::string_view key);

class KeyResolver final : public IdentityResolver {
 public:
  static constexpr std::size_t kMinKeyBytes = 16;

  // Fails with kInvalidArgument if there is no key, or one occurs twice.
  static Result<std::unique_ptr<KeyResolver>> Create(std::vector<BearerKey> keys,
                                                     Isolation isolation);

 private:
  KeyResolver(std::vector<BearerKey> keys, Isolation isolation)
      : IdentityResolver(isolation), keys_(std::move(keys)) {}
  asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin request) const override;

  const std::vector<BearerKey> keys_;
};

}  // namespace caisson
