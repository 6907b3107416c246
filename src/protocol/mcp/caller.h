// A Caller is who makes a request and in which dialect of MCP: fixed for as long as the request lasts.
//
// There are two eras. Modern (from 2026-07-28 on) is stateless: every request says in its _meta which version it
// speaks and what its client can do. Legacy (up to 2025-11-25) says it once, in `initialize`.
//
// Trust     What a client says of itself is believed only where it can harm nobody but itself. The owner comes
//           from the transport, never from a message.
// Threads   Values and pure functions.
// Lifetime  Values.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "context/session_context.h"
#include "identity/identity.h"
#include "protocol/mcp/message.h"
#include "wire/value.h"

namespace caisson::mcp {

enum class Era { kLegacy, kModern };

inline constexpr std::string_view kModernVersion = "2026-07-28";
inline constexpr std::array<std::string_view, 3> kLegacyVersions = {"2025-11-25", "2025-06-18",
                                                                    "2025-03-26"};
inline constexpr std::string_view kNewestLegacyVersion = kLegacyVersions.front();
inline constexpr std::string_view kOldestVersion = kLegacyVersions.back();
bool IsLegacyVersion(std::string_view version);
// The only one that has batches, and must take them.
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

// Whom requests are for, as their transport has found out.
struct Principal {
  IsolationKey owner;
  std::shared_ptr<const SessionContext>
      session{};  // What tools act under; null: for nobody in particular.
};

struct Caller {
  Principal principal;
  Era era = Era::kLegacy;
  std::string version{};
  Dict capabilities{};                  // Of the client.
  std::optional<LogLevel> log_level{};  // The least that it wants to hear; nothing: nothing.

  const IsolationKey& owner() const { return principal.owner; }
  bool Can(std::string_view capability) const { return capabilities.Find(capability) != nullptr; }
};

// The version that the _meta of a request names; null if it names none, as in the legacy era.
const std::string* MetaVersion(const Dict& params);

// The caller of a modern request, or why it cannot be answered.
std::variant<Caller, RpcError> ReadModernCaller(const Dict& params, Principal principal);
RpcError UnsupportedVersion(std::string_view requested);

// What a request's progress is to be told under; nothing: it is not wanted.
std::optional<Value> ProgressToken(const Dict& params);

}  // namespace caisson::mcp
