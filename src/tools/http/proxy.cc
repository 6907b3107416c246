#include "tools/http/proxy.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/base64.h"

namespace caisson {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kBlank = " \t";

std::string Lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// The settings may hold a password, so errors do not repeat them.
Error Bad(std::string_view problem) {
  return Error(ErrorCode::kInvalidArgument,
               "HTTPS_PROXY " + std::string(problem) + "; write it as http://HOST:PORT");
}

// User and password of a URL may be percent-encoded.
std::string Decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    const bool is_escape = text[i] == '%' && i + 2 < text.size() &&
                           std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    out.push_back(is_escape ? static_cast<char>(byte) : text[i]);
    if (is_escape) i += 2;
  }
  return out;
}

bool IsBelow(std::string_view host, std::string_view name) {
  if (host == name) return true;
  return host.size() > name.size() && host.ends_with(name) &&
         host[host.size() - name.size() - 1] == '.';
}

}  // namespace

Result<std::optional<HttpProxy>> HttpProxy::Parse(std::string_view https_proxy,
                                                  std::string_view no_proxy) {
  if (https_proxy.empty()) return std::optional<HttpProxy>();
  HttpProxy proxy;
  if (https_proxy.find("://") != https_proxy.npos) {
    if (!https_proxy.starts_with(kScheme)) return Bad("has a scheme other than http");
    https_proxy.remove_prefix(kScheme.size());
  }
  if (const std::size_t at = https_proxy.rfind('@'); at != https_proxy.npos) {
    proxy.authorization_ = "Basic " + EncodeBase64(Decoded(https_proxy.substr(0, at)));
    https_proxy.remove_prefix(at + 1);
  }
  if (https_proxy.ends_with('/')) https_proxy.remove_suffix(1);
  auto address = ParseHttpUrl(std::string(kScheme) + std::string(https_proxy) + "/");
  if (!address) return Bad("has an address that is not valid");
  proxy.address_ = *std::move(address);
  while (!no_proxy.empty()) {
    const std::size_t comma = std::min(no_proxy.find(','), no_proxy.size());
    std::string_view entry = no_proxy.substr(0, comma);
    no_proxy.remove_prefix(std::min(comma + 1, no_proxy.size()));
    const std::size_t start = entry.find_first_not_of(kBlank);
    if (start == entry.npos) continue;
    entry = entry.substr(start, entry.find_last_not_of(kBlank) - start + 1);
    if (entry == "*") proxy.none_ = true;
    if (auto network = Network::Parse(std::string(entry))) {
      proxy.networks_.push_back(*std::move(network));
    } else {
      if (entry.starts_with("*.")) entry.remove_prefix(1);
      if (entry.starts_with('.')) entry.remove_prefix(1);
      proxy.names_.push_back(Lowered(entry));
    }
  }
  return std::optional<HttpProxy>(std::move(proxy));
}

Result<std::optional<HttpProxy>> HttpProxy::Read(const Environment& environment) {
  const auto value = [&](const char* small, const char* capitals) {
    auto found = environment.find(small);
    if (found == environment.end()) found = environment.find(capitals);
    return found == environment.end() ? std::string() : found->second;
  };
  return Parse(value("https_proxy", "HTTPS_PROXY"), value("no_proxy", "NO_PROXY"));
}

bool HttpProxy::Serves(const HttpUrl& url) const {
  if (!url.secure || none_ || IsBelow(url.host, "localhost")) return false;
  boost::system::error_code no_literal;
  const auto address = boost::asio::ip::make_address(url.host, no_literal);
  if (!no_literal) {
    const bool is_direct = std::ranges::any_of(
        networks_, [&](const Network& network) { return network.Contains(address); });
    return !address.is_loopback() && !is_direct;
  }
  return std::ranges::none_of(names_,
                              [&](const std::string& name) { return IsBelow(url.host, name); });
}

std::string HttpProxy::ConnectRequest(const HttpUrl& url) const {
  const std::string host = url.is_ipv6 ? "[" + url.host + "]" : url.host;
  const std::string target = host + ":" + std::to_string(url.port);
  std::string request = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n";
  if (!authorization_.empty()) request += "Proxy-Authorization: " + authorization_ + "\r\n";
  return request + "\r\n";
}

}  // namespace caisson
