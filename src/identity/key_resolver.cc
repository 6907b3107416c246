#include "identity/key_resolver.h"

#include <algorithm>
#include <utility>

namespace caisson {

Result<Sha256Digest> DigestOfKey(std::string_view key) {
  if (key.size() < KeyResolver::kMinKeyBytes) {
    return Error(
        ErrorCode::kInvalidArgument,
        "a key needs at least " + std::to_string(KeyResolver::kMinKeyBytes) + " random characters");
  }
  return Sha256(key);
}

Result<std::unique_ptr<KeyResolver>> KeyResolver::Create(std::vector<BearerKey> keys,
                                                         Isolation isolation) {
  if (keys.empty()) {
    return Error(ErrorCode::kInvalidArgument, "mode keys needs at least one key");
  }
  std::ranges::sort(keys, {}, &BearerKey::digest);
  if (std::ranges::adjacent_find(keys, {}, &BearerKey::digest) != keys.end()) {
    return Error(ErrorCode::kInvalidArgument, "the same key is given twice");
  }
  return std::unique_ptr<KeyResolver>(new KeyResolver(std::move(keys), isolation));
}

asio::awaitable<Result<std::optional<Identity>>> KeyResolver::Read(RequestOrigin request) const {
  Result<std::optional<std::string>> token = BearerToken(request);
  if (!token) co_return std::move(token).error();
  if (!*token) co_return std::optional<Identity>();
  const Sha256Digest digest = Sha256(**token);
  const BearerKey* found = nullptr;
  for (const BearerKey& key : keys_) {  // Compares with all keys, even after a match.
    if (EqualInConstantTime(key.digest, digest)) found = &key;
  }
  if (found == nullptr) co_return Error(ErrorCode::kUnauthenticated, "unknown key");
  co_return std::optional(found->identity);
}

}  // namespace caisson
