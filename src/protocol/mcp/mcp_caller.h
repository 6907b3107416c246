// A Caller is the sender of a request and its dialect of MCP, fixed for the duration of the
// request.
//
// There are two eras. Modern (since 2026-07-28) is stateless: every request names its version and
// the client's capabilities in its _meta. Legacy (up to 2025-11-25) names them once, in
// `initialize`.
//
// Trust     A client's statements about itself are used only where they can harm nobody else. The
//           owner comes from the transport, never from a message.
// Threads   Values and pure functions.
// Lifetime  Values.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "caller/caller_context.h"
#include "identity/identity.h"
#include "protocol/mcp/mcp_message.h"
#include "wire/value.h"

namespace caisson::mcp {

enum class Era { kLegacy, kModern };

inline constexpr std::string_view kModernVersion = "2026-07-28";
inline constexpr std::array<std::string_view, 3> kLegacyVersions = {"2025-11-25", "2025-06-18",
                                                                    "2025-03-26"};
inline constexpr std::string_view kNewestLegacyVersion = kLegacyVersions.front();
inline constexpr std::string_view kOldestVersion = kLegacyVersions.back();
bool IsLegacyVersion(std::string_view version);
// The only version that has batches; a server must accept them.
inline constexpr std::string_view kBatchVersion = "2025-03-26";
RpcError NoBatches();

// The names of MCP's own fields in _meta.
inline constexpr std::string_view kMetaVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kMetaCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kMetaLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kMetaServerInfo = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kMetaClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kMetaSubscription = "io.modelcontextprotocol/subscriptionId";

enum class LogLevel { kDebug, kInfo, kNotice, kWarning, kError, kCritical, kAlert, kEmergency };
std::string_view ToString(LogLevel level);
std::optional<LogLevel> ParseLogLevel(std::string_view name);

// For whom requests act, as determined by the transport.
struct Principal {
  IsolationKey owner;
  std::shared_ptr<const CallerContext> caller{};  // The session of its tools; null: none.
};

struct Caller {
  Principal principal;
  Era era = Era::kLegacy;
  std::string version{};
  Dict capabilities{};  // Capabilities of the client.
  // The lowest level that it wants to receive; nullopt: no messages.
  std::optional<LogLevel> log_level{};

  const IsolationKey& owner() const { return principal.owner; }
  bool Can(std::string_view capability) const { return capabilities.Find(capability) != nullptr; }
};

// Returns the version in the _meta of a request; null if there is none, as in the legacy era.
const std::string* MetaVersion(const Dict& params);

// Returns the caller of a modern request, or the error to answer with.
std::variant<Caller, RpcError> ReadModernCaller(const Dict& params, Principal principal);
RpcError UnsupportedVersion(std::string_view requested);

// Returns the token for progress reports; nullopt: none are wanted.
std::optional<Value> ProgressToken(const Dict& params);

}  // namespace caisson::mcp
