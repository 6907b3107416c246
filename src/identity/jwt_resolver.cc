#include "identity/jwt_resolver.h"

#include <utility>

namespace caisson {
namespace {

constexpr std::chrono::seconds kMaxLeeway = std::chrono::minutes(10);

Result<std::optional<std::string>> Claim(const Dict& claims,
                                         const std::optional<std::string>& name) {
  if (!name) return std::optional<std::string>();
  const Value* const value = claims.Find(*name);
  const auto* const text = value == nullptr ? nullptr : value->If<std::string>();
  if (text == nullptr) {
    return Error(ErrorCode::kUnauthenticated, "token: claim " + *name + " is missing or not text");
  }
  return std::optional(*text);
}

}  // namespace

Result<std::unique_ptr<JwtResolver>> JwtResolver::Create(Options options, const Clock& clock) {
  const JwtRules& rules = options.rules;
  if (rules.keys.empty() || rules.issuer.empty() || rules.audience.empty()) {
    return Error(ErrorCode::kInvalidArgument, "mode jwt needs keys, an issuer and an audience");
  }
  if (rules.leeway < std::chrono::seconds(0) || rules.leeway > kMaxLeeway) {
    return Error(ErrorCode::kInvalidArgument, "leeway must be between 0 and 600 seconds");
  }
  return std::unique_ptr<JwtResolver>(new JwtResolver(std::move(options), clock));
}

asio::awaitable<Result<std::optional<Identity>>> JwtResolver::Read(RequestOrigin request) const {
  co_return FromToken(request);
}

Result<std::optional<Identity>> JwtResolver::FromToken(const RequestOrigin& request) const {
  TRY_ASSIGN(const std::optional<std::string> token, BearerToken(request));
  if (!token) return std::optional<Identity>();
  TRY_ASSIGN(const Dict claims, VerifyJwt(*token, options_.rules, clock_.Now()));
  TRY_ASSIGN(std::optional<std::string> tenant, Claim(claims, options_.claims.tenant));
  TRY_ASSIGN(std::optional<std::string> user, Claim(claims, options_.claims.user));
  TRY_ASSIGN(std::optional<std::string> chat, Claim(claims, options_.claims.chat));
  TRY_ASSIGN(Identity identity,
             Identity::Create({.tenant = tenant, .user = user.value_or(""), .chat = chat}));
  return std::optional(std::move(identity));
}

}  // namespace caisson
