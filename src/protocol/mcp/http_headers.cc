#include "protocol/mcp/http_headers.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "wire/object.h"

namespace caisson::mcp {
namespace {

constexpr std::string_view kVersionHeader = "MCP-Protocol-Version";
constexpr std::string_view kEncodedStart = "=?base64?";
constexpr std::string_view kEncodedEnd = "?=";

RpcError Mismatch(std::string_view header, std::string_view problem) {
  return {.code = RpcCode::kHeaderMismatch,
          .message = "the header " + std::string(header) + " " + std::string(problem)};
}

// Decodes a value that is not plain ASCII. Returns nullopt if the encoding is wrong.
std::optional<std::string> Decoded(const std::string& value) {
  if (!value.starts_with(kEncodedStart) || !value.ends_with(kEncodedEnd) ||
      value.size() < kEncodedStart.size() + kEncodedEnd.size()) {
    return value;
  }
  return DecodeBase64(std::string_view(value).substr(
      kEncodedStart.size(), value.size() - kEncodedStart.size() - kEncodedEnd.size()));
}

std::optional<RpcError> CheckHeader(const net::Headers& headers, std::string_view name,
                                    const std::string& expected) {
  const std::string* value = headers.Find(name);
  if (value == nullptr) return Mismatch(name, "is missing");
  if (headers.Count(name) > 1) return Mismatch(name, "occurs twice");
  const auto decoded = Decoded(*value);
  if (!decoded) return Mismatch(name, "has an invalid encoding");
  if (*decoded != expected) return Mismatch(name, "does not match the body");
  return std::nullopt;
}

// The field of params that Mcp-Name repeats; empty if there is none.
std::string_view NamedBy(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method == "resources/read") return "uri";
  return "";
}

}  // namespace

bool IsModern(const Dict& params, const net::Headers& headers) {
  if (MetaVersion(params) != nullptr) return true;
  const std::string* version = headers.Find(kVersionHeader);
  return version != nullptr && !IsLegacyVersion(*version);
}

std::variant<Caller, RpcError> CheckedCaller(const Request& request, const net::Headers& headers,
                                             const Principal& principal) {
  if (headers.Find(kVersionHeader) == nullptr) return Mismatch(kVersionHeader, "is missing");
  auto caller = ReadModernCaller(request.params, principal);
  const std::string* version = MetaVersion(request.params);
  if (version != nullptr) {
    // If both name the same unsupported version, the error says so. If they differ, it is a
    // mismatch.
    if (auto wrong = CheckHeader(headers, kVersionHeader, *version)) return *std::move(wrong);
  }
  if (std::holds_alternative<RpcError>(caller)) return caller;
  if (auto wrong = CheckHeader(headers, "Mcp-Method", request.method)) return *std::move(wrong);
  const std::string_view field = NamedBy(request.method);
  const auto* name = field.empty() ? nullptr : FindAs<std::string>(request.params, field);
  if (name != nullptr) {
    if (auto wrong = CheckHeader(headers, "Mcp-Name", *name)) return *std::move(wrong);
  }
  return caller;
}

}  // namespace caisson::mcp
