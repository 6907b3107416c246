#include "protocol/mcp/mcp_caller.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "wire/object.h"

namespace caisson::mcp {
namespace {

constexpr std::string_view kLevels[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};

RpcError InvalidMeta(std::string message) {
  return {.code = RpcCode::kInvalidParams, .message = std::move(message)};
}

}  // namespace

bool IsLegacyVersion(std::string_view version) {
  return std::ranges::find(kLegacyVersions, version) != kLegacyVersions.end();
}

RpcError NoBatches() {
  return {
      .code = RpcCode::kInvalidRequest,
      .message = "batches are part of protocol version " + std::string(kBatchVersion) + " only"};
}

std::string_view ToString(LogLevel level) {
  return kLevels[std::to_underlying(level)];
}

std::optional<LogLevel> ParseLogLevel(std::string_view name) {
  const auto* found = std::ranges::find(kLevels, name);
  if (found == std::end(kLevels)) return std::nullopt;
  return static_cast<LogLevel>(found - kLevels);
}

const std::string* MetaVersion(const Dict& params) {
  const auto* meta = FindAs<Dict>(params, "_meta");
  return meta == nullptr ? nullptr : FindAs<std::string>(*meta, kMetaVersion);
}

std::variant<Caller, RpcError> ReadModernCaller(const Dict& params, Principal principal) {
  const auto* meta = FindAs<Dict>(params, "_meta");
  if (meta == nullptr) return InvalidMeta("params._meta is missing");
  const auto* version = FindAs<std::string>(*meta, kMetaVersion);
  if (version == nullptr) {
    return InvalidMeta("params._meta lacks \"" + std::string(kMetaVersion) + "\"");
  }
  const auto* capabilities = FindAs<Dict>(*meta, kMetaCapabilities);
  if (capabilities == nullptr) {
    return InvalidMeta("params._meta lacks \"" + std::string(kMetaCapabilities) + "\"");
  }
  if (*version != kModernVersion) return UnsupportedVersion(*version);
  Caller caller{.principal = std::move(principal),
                .era = Era::kModern,
                .version = *version,
                .capabilities = *capabilities};
  if (const auto* level = FindAs<std::string>(*meta, kMetaLogLevel)) {
    caller.log_level = ParseLogLevel(*level);
    if (!caller.log_level) return InvalidMeta("there is no log level \"" + *level + "\"");
  }
  return caller;
}

RpcError UnsupportedVersion(std::string_view requested) {
  List supported{{Value(std::string(kModernVersion))}};
  for (const std::string_view version : kLegacyVersions) {
    supported.items.emplace_back(std::string(version));
  }
  return {.code = RpcCode::kUnsupportedVersion,
          .message = "this version of the protocol is not supported",
          .data = Object({{"supported", supported}, {"requested", std::string(requested)}})};
}

std::optional<Value> ProgressToken(const Dict& params) {
  const auto* meta = FindAs<Dict>(params, "_meta");
  const Value* token = meta == nullptr ? nullptr : meta->Find("progressToken");
  if (token == nullptr) return std::nullopt;
  if (token->If<std::string>() == nullptr && token->If<std::int64_t>() == nullptr)
    return std::nullopt;
  return *token;
}

}  // namespace caisson::mcp
