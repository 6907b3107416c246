#include "identity/resolver.h"

#include <algorithm>
#include <utility>

namespace caisson {
namespace {

constexpr std::size_t kMaxTokenBytes = 16 * 1024;

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool EqualWithoutCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

// The token68 of RFC 9110: the characters of keys and tokens.
bool IsTokenCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~+/=").contains(c);
}

}  // namespace

asio::awaitable<Result<Identity>> IdentityResolver::Resolve(RequestOrigin request) const {
  Result<std::optional<Identity>> read = co_await Read(std::move(request));
  if (!read) co_return std::move(read).error();
  if (*read) co_return std::move(**read);
  if (isolation_ == Isolation::kRequired) {
    co_return Error(ErrorCode::kUnauthenticated, "the request has no credentials");
  }
  co_return Identity::None();
}

Result<std::optional<std::string>> OnlyHeader(const RequestOrigin& request, std::string_view name) {
  std::optional<std::string> found;
  for (const RequestOrigin::Header& header : request.headers) {
    if (!EqualWithoutCase(header.name, name)) continue;
    if (found) {
      return Error(ErrorCode::kUnauthenticated, "header " + std::string(name) + " occurs twice");
    }
    found = header.value;
  }
  return found;
}

Result<std::optional<std::string>> BearerToken(const RequestOrigin& request) {
  TRY_ASSIGN(const std::optional<std::string> header, OnlyHeader(request, "Authorization"));
  if (!header) return std::optional<std::string>();
  const std::string_view text = *header;
  const std::size_t space = text.find(' ');
  if (!EqualWithoutCase(text.substr(0, space), "bearer")) {
    return Error(ErrorCode::kUnauthenticated, "the scheme of Authorization must be Bearer");
  }
  const std::string_view token = space == text.npos ? std::string_view() : text.substr(space + 1);
  if (token.empty() || token.size() > kMaxTokenBytes ||
      !std::ranges::all_of(token, IsTokenCharacter)) {
    return Error(ErrorCode::kUnauthenticated, "the bearer token is not well-formed");
  }
  return std::optional(std::string(token));
}

}  // namespace caisson
