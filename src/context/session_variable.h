// The variables that say for whom and from where a session acts.
//
// Their names in a child's environment all start with kSessionPrefix, and no other name may.
//
// Trust     Values are text from outside: display names are free text of strangers. They are data wherever
//           they go, never syntax.
// Threads   Values.
// Lifetime  Static.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

enum class SessionVariable : std::uint8_t {
  kPlatform,      // Where the person writes: "slack", "api", ...
  kSource,        // The surface: "cli", "tui", ...
  kChatId,        //
  kChatType,      // "dm", "group", "channel", "thread".
  kChatName,      // Free text.
  kThreadId,      // Empty: explicitly no thread.
  kUserId,        //
  kUserIdAlt,     // The platform's stable second id of the same person.
  kUserName,      // Free text.
  kScopeId,       // Guild, workspace, server.
  kKey,           // The routing key; a handle, never an authorisation.
  kId,            // The durable conversation.
  kUiId,          // The tab or window.
  kMessageId,     // What started this turn; where replies go.
  kProfile,       //
  kParentChatId,  // Of a thread.
  kPrincipal,     // Digest of the authenticated remote principal.
  kTransport,     // How that principal came.
  kCron,          // "1": a scheduled job; empty: explicitly none; unset: not said.
  // Where a scheduled job delivers, and what it is. No part of a binding: a stored origin authorises a
  // job, it is no living sender.
  kDeliverPlatform,
  kDeliverChatId,
  kDeliverThreadId,
  kJobId,
  kJobOriginUserId,
  kJobOriginPlatform,
};
inline constexpr std::size_t kSessionVariables = 25;

inline constexpr std::string_view kSessionPrefix = "CAISSON_SESSION_";

constexpr std::array<SessionVariable, kSessionVariables> AllSessionVariables() {
  std::array<SessionVariable, kSessionVariables> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<SessionVariable>(i);
  return all;
}

// Whether binding a session decides about the variable even if it does not mention it.
constexpr bool IsBoundBySession(SessionVariable variable) {
  return variable < SessionVariable::kCron;
}

// Whether the variable says how and when somebody came, not who: another request of the same person has another.
constexpr bool IsOfOneRequest(SessionVariable variable) {
  using enum SessionVariable;
  return variable == kPlatform || variable == kSource || variable == kTransport ||
         variable == kId || variable == kUiId || variable == kMessageId;
}

// "CAISSON_SESSION_CHAT_ID".
const std::string& EnvironmentName(SessionVariable variable);

}  // namespace caisson
