#include "config/identity_table.h"

#include <algorithm>
#include <string>
#include <utility>

namespace caisson {
namespace {

bool IsGiven(const SecretReference& secret) {
  return !secret.environment.empty() || !secret.file.empty();
}

IdentityKey ReadKey(TableReader table) {
  IdentityKey key;
  table.Read("tenant", key.tenant);
  table.Read("user", key.user);
  table.Read("sha256", key.sha256);
  table.ReadSecret("value", key.value);
  table.Require("tenant");
  table.Require("user");
  if (IsGiven(key.value) == !key.sha256.empty()) {
    table.Complain("sha256", "or value_env or value_file is needed, one of them");
  }
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!key.sha256.empty() &&
      (key.sha256.size() != 64 || !std::ranges::all_of(key.sha256, is_hex))) {
    table.Complain("sha256", "must be 64 digits of 0-9 and a-f");
  }
  table.Finish();
  return key;
}

IdentityJwt ReadJwt(TableReader table) {
  IdentityJwt jwt;
  table.Read("issuer", jwt.issuer);
  table.Read("audience", jwt.audience);
  table.Read("jwks_file", jwt.jwks_file);
  table.Read("public_key_file", jwt.public_key_file);
  table.ReadSecret("secret", jwt.secret);
  table.ReadSeconds("leeway_seconds", jwt.leeway);
  table.Read("tenant_claim", jwt.tenant_claim);
  table.Read("user_claim", jwt.user_claim);
  table.Read("chat_claim", jwt.chat_claim);
  table.Require("issuer");
  table.Require("audience");
  const int kinds = !jwt.jwks_file.empty() + !jwt.public_key_file.empty() + IsGiven(jwt.secret);
  if (kinds != 1) {
    table.Complain("jwks_file",
                   "or public_key_file or secret_env or secret_file is needed, one of them");
  }
  if (jwt.user_claim.empty()) table.Complain("user_claim", "must name a claim");
  table.Finish();
  return jwt;
}

IdentityHeaderNames ReadHeaders(TableReader table) {
  const IdentityHeaderNames foundry_v1{
      .proxies = {}, .user = "x-agent-user-isolation-key", .chat = "x-agent-chat-isolation-key"};
  const IdentityHeaderNames foundry_v2{.proxies = {}, .user = "x-agent-user-id"};
  IdentityHeaderNames headers;
  table.ReadChoice<IdentityHeaderNames>("preset", headers,
                                        {{"foundry-v1", foundry_v1}, {"foundry-v2", foundry_v2}});
  table.Read("tenant", headers.tenant);
  table.Read("user", headers.user);
  table.Read("chat", headers.chat);
  table.Read("proxies", headers.proxies);
  if (headers.user.empty()) table.Complain("user", "or preset is needed: the header with the user");
  if (headers.proxies.empty()) {
    table.Complain("proxies", "must list the addresses of the trusted proxies");
  }
  table.Finish();
  return headers;
}

constexpr std::string_view NameOf(IdentityMode mode) {
  switch (mode) {
    case IdentityMode::kLocal:
      break;
    case IdentityMode::kKeys:
      return "key";
    case IdentityMode::kJwt:
      return "jwt";
    case IdentityMode::kHeaders:
      return "headers";
  }
  return "";
}

}  // namespace

IdentityConfig ReadIdentity(TableReader table, Problems& problems) {
  IdentityConfig identity;
  table.ReadChoice<IdentityMode>("mode", identity.mode,
                                 {{"local", IdentityMode::kLocal},
                                  {"keys", IdentityMode::kKeys},
                                  {"jwt", IdentityMode::kJwt},
                                  {"headers", IdentityMode::kHeaders}});
  table.Read("strict_isolation", identity.strict_isolation);
  table.EachTable("key", [&](const toml::table& key, const std::string& name) {
    identity.keys.push_back(ReadKey(TableReader(key, name, problems)));
  });
  const toml::table* jwt = table.Table("jwt");
  if (jwt != nullptr) identity.jwt = ReadJwt(TableReader(*jwt, "identity.jwt", problems));
  const toml::table* headers = table.Table("headers");
  if (headers != nullptr) {
    identity.headers = ReadHeaders(TableReader(*headers, "identity.headers", problems));
  }
  // Settings that the mode needs must be present. Settings of other modes are errors, because they
  // would have no effect.
  const std::string_view needed = NameOf(identity.mode);
  const std::pair<std::string_view, bool> given[] = {
      {"key", !identity.keys.empty()}, {"jwt", jwt != nullptr}, {"headers", headers != nullptr}};
  for (const auto& [name, is_given] : given) {
    if (name == needed && !is_given) table.Complain(name, "is missing; identity.mode needs it");
    if (name != needed && is_given)
      table.Complain(name, "does not belong to the chosen identity.mode; remove it");
  }
  table.Finish();
  return identity;
}

}  // namespace caisson
