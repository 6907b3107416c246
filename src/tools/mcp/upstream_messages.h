// The messages to and from an MCP server, besides questions and answers, for both kinds of link.
//
// Trust     Messages are the server's; malformed ones are ignored.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jsonrpc/message.h"
#include "tools/progress.h"
#include "wire/value.h"

namespace caisson {

inline constexpr std::string_view kListChanged = "notifications/tools/list_changed";
inline constexpr std::string_view kProgress = "notifications/progress";

// Asks for progress reports of the request with these params, under its own id.
void AddProgressToken(Dict& params, const Value& id);

struct ProgressNotice {
  Value token;
  ToolProgress progress;
};
// Returns nullopt if it is not a progress notification, or an empty one.
std::optional<ProgressNotice> ReadProgress(const jsonrpc::Notification& notification);

// Says that the answer to a request is no longer needed.
std::string CancelledText(const Value& id);

// Answers a request of the server: confirms ping and refuses everything else.
std::string ReplyToServer(const jsonrpc::Request& request);

}  // namespace caisson
