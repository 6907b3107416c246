// What both kinds of link say to an MCP server, and understand of what it says, besides questions and answers.
//
// Trust     Messages are the server's: what is wrong with them is passed over.
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

// Asks to be told of the progress of the request with these params, under its own id.
void AddProgressToken(Dict& params, const Value& id);

struct ProgressNotice {
  Value token;
  ToolProgress progress;
};
// Nothing if it is no such notification, or one that says nothing.
std::optional<ProgressNotice> ReadProgress(const jsonrpc::Notification& notification);

// That nobody waits for the answer to a request any more.
std::string CancelledText(const Value& id);

// The answer to what a server asks of us: we are there, and can do nothing for it.
std::string ReplyToServer(const jsonrpc::Request& request);

}  // namespace caisson
