#include "server/configured_identity.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "identity/header_resolver.h"
#include "identity/jwt_resolver.h"
#include "identity/key_resolver.h"
#include "identity/local_resolver.h"
#include "server/secrets.h"

namespace caisson {
namespace {

using Made = Result<std::unique_ptr<IdentityResolver>>;

// Makes a resolver from one configuration.
class ResolverMaker {
 public:
  ResolverMaker(const IdentityConfig& config, const std::string& directory,
                const EnvironmentMap& environment, const Clock& clock)
      : config_(config), directory_(directory), environment_(environment), clock_(clock) {}

  Made Make() const {
    switch (config_.mode) {
      case IdentityMode::kLocal:
        break;
      case IdentityMode::kKeys:
        return MakeKeys();
      case IdentityMode::kJwt:
        return MakeJwt();
      case IdentityMode::kHeaders:
        return MakeHeaders();
    }
    return std::unique_ptr<IdentityResolver>(std::make_unique<LocalResolver>());
  }

 private:
  Isolation isolation() const {
    return config_.strict_isolation.value_or(true) ? Isolation::kRequired : Isolation::kOptional;
  }
  static std::optional<std::string> Named(const std::string& name) {
    return name.empty() ? std::nullopt : std::optional(name);
  }

  Result<Sha256Digest> Digest(const IdentityKey& key) const {
    // The configuration has validated it.
    if (!key.sha256.empty()) return *Sha256FromHex(key.sha256);
    TRY_ASSIGN(const std::string value, FetchSecret(key.value, directory_, environment_));
    return DigestOfKey(value);
  }

  Made MakeKeys() const {
    std::vector<BearerKey> keys;
    for (const IdentityKey& key : config_.keys) {
      const std::string doing = "the key of " + key.tenant + "/" + key.user;
      auto identity = Identity::Create({.tenant = key.tenant, .user = key.user});
      if (!identity) return std::move(identity).error().Context(doing);
      auto digest = Digest(key);
      if (!digest) return std::move(digest).error().Context(doing);
      keys.push_back({.identity = *std::move(identity), .digest = *digest});
    }
    TRY_ASSIGN(auto resolver, KeyResolver::Create(std::move(keys), isolation()));
    return std::unique_ptr<IdentityResolver>(std::move(resolver));
  }

  Result<std::vector<JwtKey>> TokenKeys() const {
    const IdentityJwt& jwt = config_.jwt;
    if (!jwt.jwks_file.empty()) {
      TRY_ASSIGN(const std::string text, ReadBeside(directory_, jwt.jwks_file));
      return ParseJwkSet(text);
    }
    if (!jwt.public_key_file.empty()) {
      TRY_ASSIGN(const std::string text, ReadBeside(directory_, jwt.public_key_file));
      TRY_ASSIGN(JwtKey key, JwtKey::FromPem(text));
      return std::vector{std::move(key)};
    }
    TRY_ASSIGN(std::string secret, FetchSecret(jwt.secret, directory_, environment_));
    TRY_ASSIGN(JwtKey key, JwtKey::FromSecret(std::move(secret)));
    return std::vector{std::move(key)};
  }

  Made MakeJwt() const {
    const IdentityJwt& jwt = config_.jwt;
    auto keys = TokenKeys();
    if (!keys) return std::move(keys).error().Context("identity.jwt");
    JwtResolver::Options options{
        .rules = {.keys = *std::move(keys), .issuer = jwt.issuer, .audience = jwt.audience},
        .claims = {.tenant = Named(jwt.tenant_claim),
                   .user = jwt.user_claim,
                   .chat = Named(jwt.chat_claim)},
        .isolation = isolation()};
    if (jwt.leeway) options.rules.leeway = std::chrono::ceil<std::chrono::seconds>(*jwt.leeway);
    TRY_ASSIGN(auto resolver, JwtResolver::Create(std::move(options), clock_));
    return std::unique_ptr<IdentityResolver>(std::move(resolver));
  }

  Made MakeHeaders() const {
    const IdentityHeaderNames& headers = config_.headers;
    TRY_ASSIGN(auto resolver, HeaderResolver::Create({.headers = {.tenant = Named(headers.tenant),
                                                                  .user = headers.user,
                                                                  .chat = Named(headers.chat)},
                                                      .proxies = headers.proxies,
                                                      .isolation = isolation()}));
    return std::unique_ptr<IdentityResolver>(std::move(resolver));
  }

  const IdentityConfig& config_;
  const std::string& directory_;
  const EnvironmentMap& environment_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<IdentityResolver>> MakeIdentityResolver(const IdentityConfig& config,
                                                               const std::string& directory,
                                                               const EnvironmentMap& environment,
                                                               const Clock& clock) {
  return ResolverMaker(config, directory, environment, clock).Make();
}

}  // namespace caisson
