// An Identity says for whom a request acts. Its IsolationKey is the key of the data that it owns.
//
//   Result<Identity> ann = Identity::Create({.tenant = "acme", .user = "ann"});
//   store.FindRun(IsolationKey(*ann), id);
//
// Trust     Create takes the parts from a request and refuses ambiguous ones: blanks, control
//           characters, text that is not UTF-8, and more than 256 bytes.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

struct IdentityParts {
  std::optional<std::string> tenant{};
  std::string user;
  std::optional<std::string> chat{};
};

class Identity {
 public:
  static constexpr std::size_t kMaxPartBytes = 256;

  // Fails with kUnauthenticated and names the wrong part and the reason. Parts are kept unchanged:
  // nothing is trimmed or folded, so that no two names become one.
  static Result<Identity> Create(IdentityParts parts);

  // The identity of a request without one. It is a partition of its own and equals no named
  // identity.
  static Identity None() { return Identity({}); }
  bool is_none() const { return parts_.user.empty(); }

  // Returns the same person in one chat.
  Result<Identity> InChat(std::string chat) const;

  const std::optional<std::string>& tenant() const { return parts_.tenant; }
  const std::string& user() const { return parts_.user; }
  const std::optional<std::string>& chat() const { return parts_.chat; }

 private:
  explicit Identity(IdentityParts parts) : parts_(std::move(parts)) {}
  IdentityParts parts_;
};

// Different identities have different keys: no choice of parts makes two of them collide.
class IsolationKey {
 public:
  explicit IsolationKey(const Identity& identity);

  // Returns a key that was read from a store. Precondition: it came from str().
  static IsolationKey FromStored(std::string stored) { return IsolationKey(std::move(stored)); }

  // Returns 64 hexadecimal digits: the digest of CanonicalText. Stored data does not reveal the
  // identity.
  const std::string& str() const { return value_; }
  auto operator<=>(const IsolationKey&) const = default;

 private:
  explicit IsolationKey(std::string value) : value_(std::move(value)) {}
  std::string value_;
};

// Returns ["acme","ann",null]: tenant, user, chat as a canonical JSON array (RFC 8785), null for a
// missing part.
std::string CanonicalText(const Identity& identity);

}  // namespace caisson
