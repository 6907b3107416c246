// The variables that describe for whom and from where a session acts.
//
// Their names in a child's environment all start with kSessionPrefix, and no other name may.
//
// Trust     Values are text from outside; display names are free text from strangers. They are
//           always data, never syntax.
// Threads   Values.
// Lifetime  Static.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace caisson {

enum class CallerVariable : std::uint8_t {
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
  kMessageId,     // The message that started this turn; replies go there.
  kProfile,       //
  kParentChatId,  // The parent of a thread.
  kPrincipal,     // Digest of the authenticated remote principal.
  kTransport,     // The transport of that principal.
  kCron,          // "1": a scheduled job; empty: explicitly none; unset: unknown.
  // The target and the identity of a scheduled job. They are not part of a binding: a stored origin
  // authorises a job, but it is not a live sender.
  kDeliverPlatform,
  kDeliverChatId,
  kDeliverThreadId,
  kJobId,
  kJobOriginUserId,
  kJobOriginPlatform,
};
inline constexpr std::size_t kCallerVariables = 25;

inline constexpr std::string_view kSessionPrefix = "CAISSON_SESSION_";

constexpr std::array<CallerVariable, kCallerVariables> AllCallerVariables() {
  std::array<CallerVariable, kCallerVariables> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<CallerVariable>(i);
  return all;
}

// Returns true if Bind changes the variable even when the binding does not mention it.
constexpr bool IsBoundBySession(CallerVariable variable) {
  return variable < CallerVariable::kCron;
}

// Returns true if the variable describes one request, not the person. It differs between requests
// of the same person.
constexpr bool IsOfOneRequest(CallerVariable variable) {
  using enum CallerVariable;
  return variable == kPlatform || variable == kSource || variable == kTransport ||
         variable == kId || variable == kUiId || variable == kMessageId;
}

// "CAISSON_SESSION_CHAT_ID".
const std::string& EnvironmentName(CallerVariable variable);

}  // namespace caisson
