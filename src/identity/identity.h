// An Identity says who something is done for, and an IsolationKey is where that one's things are kept.
//
//   Result<Identity> ann = Identity::Create({.tenant = "acme", .user = "ann"});
//   store.FindRun(IsolationKey(*ann), id);
//
// Trust     Create takes parts as a request brought them and refuses what two readers could see as two
//           different things: blanks, control characters, text that is no UTF-8, and more than 256 bytes.
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

  // kUnauthenticated, saying which part is wrong and how. Parts are kept as they are: nothing is trimmed
  // or folded, so that no two names become one.
  static Result<Identity> Create(IdentityParts parts);

  // Nobody: a partition of its own that matches no one who has a name.
  static Identity None() { return Identity({}); }
  bool is_none() const { return parts_.user.empty(); }

  // The same person in one chat.
  Result<Identity> InChat(std::string chat) const;

  const std::optional<std::string>& tenant() const { return parts_.tenant; }
  const std::string& user() const { return parts_.user; }
  const std::optional<std::string>& chat() const { return parts_.chat; }

 private:
  explicit Identity(IdentityParts parts) : parts_(std::move(parts)) {}
  IdentityParts parts_;
};

// Different for different identities: no choice of parts makes two of them meet.
class IsolationKey {
 public:
  explicit IsolationKey(const Identity& identity);

  // A key that a store gave back. Precondition: it came from str().
  static IsolationKey FromStored(std::string stored) { return IsolationKey(std::move(stored)); }

  // 64 hexadecimal digits: the digest of CanonicalText. What is stored says nothing about who it is.
  const std::string& str() const { return value_; }
  auto operator<=>(const IsolationKey&) const = default;

 private:
  explicit IsolationKey(std::string value) : value_(std::move(value)) {}
  std::string value_;
};

// ["acme","ann",null]: tenant, user, chat as a canonical JSON array (RFC 8785), null for what is not there.
std::string CanonicalText(const Identity& identity);

}  // namespace caisson
