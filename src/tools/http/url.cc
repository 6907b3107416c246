#include "tools/http/url.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <optional>

namespace caisson {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMaxUrl = 8192;
constexpr std::size_t kMaxHost = 253;
constexpr std::size_t kMaxLabel = 63;
constexpr int kMaxDecodings = 4;  // How often programs on the way may decode a path.

Error Bad(std::string_view problem) {
  return Error(ErrorCode::kInvalidArgument, "the URL " + std::string(problem));
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string Lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), Lower);
  return out;
}

// Removes the text before `stops` from `rest` and returns it.
std::string_view TakeUntil(std::string_view& rest, std::string_view stops) {
  const std::size_t end = std::min(rest.find_first_of(stops), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end);
  return taken;
}

bool IsLabel(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabel && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, [](char c) {
           return (c >= 'a' && c <= 'z') || IsDigit(c) || c == '-' || c == '_';
         });
}

// Old resolvers read "0x7f.1", "017700000001" and "2130706433" as addresses. Browsers do the same
// for any name that ends in such a label.
bool LooksLikeNumber(std::string_view label) {
  if (std::ranges::all_of(label, IsDigit)) return true;
  return label.starts_with("0x") && std::ranges::all_of(label.substr(2), IsHexDigit);
}

Result<std::string> ParseName(std::string_view text) {
  const std::string host = Lowered(text);
  if (host.empty() || host.size() > kMaxHost) return Bad("has a host that is missing or too long");
  std::string_view rest = host;
  std::string_view last;
  for (;;) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    last = rest.substr(0, dot);
    if (!IsLabel(last))
      return Bad("has a host that is not a plain name; write names beyond ASCII in punycode");
    if (dot == rest.size()) break;
    rest.remove_prefix(dot + 1);
  }
  if (!LooksLikeNumber(last)) return host;
  boost::system::error_code error;
  const auto address = asio::ip::make_address_v4(host, error);
  if (error || address.to_string() != host) {
    return Bad("has a host that is an address in an unusual spelling");
  }
  return host;
}

Result<std::string> ParseIpv6(std::string_view text) {
  const bool plain =
      std::ranges::all_of(text, [](char c) { return IsHexDigit(c) || c == ':' || c == '.'; });
  boost::system::error_code error;
  const auto address = asio::ip::make_address_v6(std::string(text), error);
  if (!plain || error) return Bad("has an IPv6 address that is not valid or has a zone");
  return address.to_string();
}

Result<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (!whole || port == 0 || text.front() == '0') return Bad("has a port that is not valid");
  return port;
}

// Decodes percent signs once; nullopt if one is not followed by two digits.
std::optional<std::string> Decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    if (digits.size() != 2 || !std::ranges::all_of(digits, IsHexDigit)) return std::nullopt;
    unsigned byte = 0;
    std::from_chars(digits.data(), digits.data() + 2, byte, 16);
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

// "." or "..", also with parameters (";x") that some servers cut off first.
bool Climbs(std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view segment = TakeUntil(path, "/\\");
    const std::string_view name = segment.substr(0, segment.find(';'));
    if (name == "." || name == "..") return true;
  }
  return false;
}

Result<void> CheckPath(const std::string& path) {
  std::optional<std::string> reading = path;
  for (int i = 0; i < kMaxDecodings; ++i) {
    if (Climbs(*reading)) return Bad("has \".\" or \"..\" in its path");
    if (reading->find('\0') != reading->npos) return Bad("has a NUL in its path");
    auto next = Decoded(*reading);
    if (!next) {
      if (i == 0) return Bad("has a percent sign without two digits");
      return {};
    }
    if (*next == *reading) return {};
    reading = std::move(next);
  }
  return Bad("has a path that is encoded too many times");
}

Result<void> CheckCharacters(std::string_view text) {
  if (text.size() > kMaxUrl) return Bad("is too long");
  for (const char c : text) {
    if (c <= ' ' || c > '~') return Bad("has a character that is not visible ASCII");
    if (c == '\\' || c == '^' || c == '`' || c == '{' || c == '}' || c == '|' || c == '<' ||
        c == '>' || c == '"') {
      return Bad(std::string("has a character that URLs cannot have: ") + c);
    }
  }
  return {};
}

}  // namespace

std::string HttpUrl::Authority() const {
  const std::string name = is_ipv6 ? "[" + host + "]" : host;
  return port == (secure ? 443 : 80) ? name : name + ":" + std::to_string(port);
}

std::string HttpUrl::Origin() const {
  return (secure ? "https://" : "http://") + (is_ipv6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

std::string HttpUrl::Text() const {
  return (secure ? "https://" : "http://") + Authority() + path + query;
}

Result<HttpUrl> ParseHttpUrl(std::string_view text) {
  TRY(CheckCharacters(text));
  HttpUrl url;
  std::string_view rest = text;
  const std::string scheme = Lowered(TakeUntil(rest, ":"));
  if (scheme != "http" && scheme != "https") return Bad("must begin with http:// or https://");
  if (!rest.starts_with("://")) return Bad("must begin with http:// or https://");
  rest.remove_prefix(3);
  url.secure = scheme == "https";
  url.port = url.secure ? 443 : 80;

  std::string_view authority = TakeUntil(rest, "/?#");
  if (authority.find('@') != authority.npos) return Bad("has a user name in it");
  if (authority.starts_with('[')) {
    authority.remove_prefix(1);
    const std::string_view address = TakeUntil(authority, "]");
    if (authority.empty()) return Bad("has an IPv6 address without an end");
    authority.remove_prefix(1);
    url.is_ipv6 = true;
    TRY_ASSIGN(url.host, ParseIpv6(address));
  } else {
    TRY_ASSIGN(url.host, ParseName(TakeUntil(authority, ":")));
  }
  if (!authority.empty()) {
    if (authority.front() != ':' || authority.size() == 1)
      return Bad("has a port that is not valid");
    TRY_ASSIGN(url.port, ParsePort(authority.substr(1)));
  }

  url.path = TakeUntil(rest, "?#");
  if (url.path.empty()) url.path = "/";
  TRY(CheckPath(url.path));
  url.query = TakeUntil(rest, "#");
  return url;
}

Result<HttpUrl> ResolveLocation(const HttpUrl& base, std::string_view location) {
  TRY(CheckCharacters(location));
  const std::size_t colon = location.find(':');
  const bool absolute = colon != location.npos && colon < location.find_first_of("/?#");
  if (absolute) return ParseHttpUrl(location);
  const std::string origin = base.Origin();
  const std::string text(location);
  if (text.starts_with("//")) return ParseHttpUrl((base.secure ? "https:" : "http:") + text);
  if (text.starts_with("/")) return ParseHttpUrl(origin + text);
  if (text.empty() || text.starts_with("?") || text.starts_with("#")) {
    return ParseHttpUrl(origin + base.path + text);
  }
  return ParseHttpUrl(origin + base.path.substr(0, base.path.rfind('/') + 1) + text);
}

}  // namespace caisson
