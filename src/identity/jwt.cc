#include "identity/jwt.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "wire/json.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxTokenBytes = 16 * 1024;

Error Refused(std::string_view why) {
  return Error(ErrorCode::kUnauthenticated, "token: " + std::string(why));
}

struct Parts {
  std::string_view signed_text;  // Header and claims, as they were signed.
  Dict header;
  Dict claims;
  std::string signature;
};

Result<Dict> ParseObject(std::string_view part, std::string_view name) {
  const std::optional<std::string> json = DecodeBase64Url(part);
  if (!json) return Refused(std::string(name) + " is not base64url");
  Result<Value> value = ParseJson(*json);
  if (!value) return Refused(std::string(name) + " is not JSON");
  Dict* const object = std::get_if<Dict>(&value->variant());
  if (object == nullptr) return Refused(std::string(name) + " is not an object");
  return std::move(*object);
}

Result<Parts> Split(std::string_view token) {
  if (token.size() > kMaxTokenBytes) return Refused("too long");
  if (std::ranges::count(token, '.') != 2) return Refused("not three parts");
  const std::size_t first = token.find('.');
  const std::size_t second = token.rfind('.');
  TRY_ASSIGN(Dict header, ParseObject(token.substr(0, first), "the header"));
  TRY_ASSIGN(Dict claims, ParseObject(token.substr(first + 1, second - first - 1), "the claims"));
  std::optional<std::string> signature = DecodeBase64Url(token.substr(second + 1));
  if (!signature) return Refused("the signature is not base64url");
  return Parts{token.substr(0, second), std::move(header), std::move(claims),
               *std::move(signature)};
}

const std::string* Text(const Dict& object, std::string_view name) {
  const Value* const value = object.Find(name);
  return value == nullptr ? nullptr : value->If<std::string>();
}

// Tokens for other purposes (a logout, a proof of possession) may be signed with the same key.
bool IsAcceptedType(const Dict& header) {
  if (header.Find("typ") == nullptr) return true;
  const std::string* const type = Text(header, "typ");
  if (type == nullptr) return false;
  std::string lower = *type;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  std::string_view name = lower;
  if (name.starts_with("application/")) name.remove_prefix(std::string_view("application/").size());
  return name == "jwt" || name == "at+jwt";
}

// A key without an id matches any token; a key with an id matches tokens with this id or without
// one.
bool MayBeMeant(const JwtKey& key, const std::string& algorithm, const std::string* id) {
  return ToString(key.algorithm()) == algorithm && (id == nullptr || !key.id() || *key.id() == *id);
}

Result<void> CheckSignature(const Parts& token, const JwtRules& rules) {
  const std::string* const algorithm = Text(token.header, "alg");
  if (algorithm == nullptr) return Refused("alg is missing");
  if (token.header.Find("crit") != nullptr) return Refused("crit is not supported");
  if (!IsAcceptedType(token.header)) return Refused("typ names another kind of token");
  const std::string* const id = Text(token.header, "kid");
  if (id == nullptr && token.header.Find("kid") != nullptr) return Refused("kid is not text");
  bool any = false;
  for (const JwtKey& key : rules.keys) {
    if (!MayBeMeant(key, *algorithm, id)) continue;
    any = true;
    if (key.Verifies(token.signed_text, token.signature)) return {};
  }
  return any ? Refused("wrong signature") : Refused("no key of that alg and kid");
}

// Seconds since 1970. Fractions are allowed by the RFC.
Result<std::optional<double>> Time(const Dict& claims, std::string_view name) {
  const Value* const value = claims.Find(name);
  if (value == nullptr) return std::optional<double>();
  if (const auto* whole = value->If<std::int64_t>()) {
    return std::optional(static_cast<double>(*whole));
  }
  if (const auto* real = value->If<double>(); real != nullptr && std::isfinite(*real)) {
    return std::optional(*real);
  }
  return Refused(std::string(name) + " is no time");
}

Result<void> CheckTimes(const Dict& claims, std::chrono::seconds leeway, SystemTime now) {
  const double seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  const double slack = static_cast<double>(leeway.count());
  TRY_ASSIGN(const std::optional<double> expires, Time(claims, "exp"));
  if (!expires) return Refused("exp is missing");
  if (seconds >= *expires + slack) return Refused("expired");
  TRY_ASSIGN(const std::optional<double> not_before, Time(claims, "nbf"));
  if (not_before && seconds < *not_before - slack) return Refused("not valid yet");
  return {};
}

bool IsFor(const Dict& claims, const std::string& audience) {
  const Value* const value = claims.Find("aud");
  if (value == nullptr) return false;
  if (const auto* list = value->If<List>()) {
    return std::ranges::find(list->items, Value(audience)) != list->items.end();
  }
  return *value == Value(audience);
}

}  // namespace

Result<Dict> VerifyJwt(std::string_view token, const JwtRules& rules, SystemTime now) {
  TRY_ASSIGN(Parts parts, Split(token));
  TRY(CheckSignature(parts, rules));
  const std::string* const issuer = Text(parts.claims, "iss");
  if (issuer == nullptr || *issuer != rules.issuer) return Refused("of another issuer");
  if (!IsFor(parts.claims, rules.audience)) return Refused("for another audience");
  TRY(CheckTimes(parts.claims, rules.leeway, now));
  return std::move(parts.claims);
}

}  // namespace caisson
