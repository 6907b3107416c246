// Mode `keys`: bearer keys, each of them somebody's.
//
// Trust     Keys are held as digests only. Every presented key is compared with all of them in the same
//           time, so that timing tells nothing about any.
// Threads   As IdentityResolver.
// Lifetime  As IdentityResolver.
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

// The digest of a key. Short ones are refused: a digest without salt protects only what cannot be guessed.
Result<Sha256Digest> DigestOfKey(std::string_view key);

class KeyResolver final : public IdentityResolver {
 public:
  static constexpr std::size_t kMinKeyBytes = 16;

  // kInvalidArgument if there is no key, or one comes twice.
  static Result<std::unique_ptr<KeyResolver>> Create(std::vector<BearerKey> keys,
                                                     Isolation isolation);

 private:
  KeyResolver(std::vector<BearerKey> keys, Isolation isolation)
      : IdentityResolver(isolation), keys_(std::move(keys)) {}
  asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin request) const override;

  const std::vector<BearerKey> keys_;
};

}  // namespace caisson
