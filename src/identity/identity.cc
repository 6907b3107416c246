#include "identity/identity.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "base/utf8.h"
#include "wire/canonical_json.h"

namespace caisson {
namespace {

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// U+0080..U+009F, the controls that UTF-8 writes in two bytes.
bool HasWideControl(std::string_view text) {
  for (std::size_t at = text.find('\xc2'); at != text.npos; at = text.find('\xc2', at + 1)) {
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0) return true;
  }
  return false;
}

// Invisible characters: a name of only these would look empty.
bool IsBlank(std::string_view text) {
  constexpr std::string_view kBlanks[] = {" ",
                                          "\xc2\xa0",
                                          "\xc2\xad",
                                          "\xe1\x9a\x80",
                                          "\xe2\x80\x80",
                                          "\xe2\x80\x81",
                                          "\xe2\x80\x82",
                                          "\xe2\x80\x83",
                                          "\xe2\x80\x84",
                                          "\xe2\x80\x85",
                                          "\xe2\x80\x86",
                                          "\xe2\x80\x87",
                                          "\xe2\x80\x88",
                                          "\xe2\x80\x89",
                                          "\xe2\x80\x8a",
                                          "\xe2\x80\x8b",
                                          "\xe2\x80\x8c",
                                          "\xe2\x80\x8d",
                                          "\xe2\x80\x8e",
                                          "\xe2\x80\x8f",
                                          "\xe2\x80\xa8",
                                          "\xe2\x80\xa9",
                                          "\xe2\x80\xaf",
                                          "\xe2\x81\x9f",
                                          "\xe2\x81\xa0",
                                          "\xe3\x80\x80",
                                          "\xef\xbb\xbf"};
  while (!text.empty()) {
    const auto* const blank =
        std::ranges::find_if(kBlanks, [&](auto each) { return text.starts_with(each); });
    if (blank == std::end(kBlanks)) return false;
    text.remove_prefix(blank->size());
  }
  return true;
}

Result<void> CheckPart(std::string_view name, std::string_view part) {
  const auto refuse = [&](std::string_view why) {
    return Error(ErrorCode::kUnauthenticated,
                 "the identity's " + std::string(name) + " " + std::string(why));
  };
  if (part.size() > Identity::kMaxPartBytes) return refuse("is too long");
  if (!IsUtf8(part)) return refuse("is not UTF-8");
  if (std::ranges::any_of(part, IsControl) || HasWideControl(part)) {
    return refuse("has a control character");
  }
  if (IsBlank(part)) return refuse("is blank");
  return {};
}

Value ValueOf(const std::optional<std::string>& part) {
  return part ? Value(*part) : Value();
}

}  // namespace

Result<Identity> Identity::Create(IdentityParts parts) {
  if (parts.tenant) TRY(CheckPart("tenant", *parts.tenant));
  TRY(CheckPart("user", parts.user));
  if (parts.chat) TRY(CheckPart("chat", *parts.chat));
  return Identity(std::move(parts));
}

Result<Identity> Identity::InChat(std::string chat) const {
  TRY(CheckPart("chat", chat));
  IdentityParts parts = parts_;
  parts.chat = std::move(chat);
  return Identity(std::move(parts));
}

std::string CanonicalText(const Identity& identity) {
  const std::optional<std::string> user =
      identity.is_none() ? std::nullopt : std::optional(identity.user());
  // Cannot fail: CheckPart accepts only UTF-8.
  return *CanonicalJson(
      List{{ValueOf(identity.tenant()), ValueOf(user), ValueOf(identity.chat())}});
}

IsolationKey::IsolationKey(const Identity& identity)
    : value_(ToHex(Sha256(CanonicalText(identity)))) {}

}  // namespace caisson
