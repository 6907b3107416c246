// The JSON form of items.
//
//   {"id":"msg_…","type":"message","status":"completed","role":"assistant","content":[…]}
//
// Code is a code_interpreter_call, a tool of the host an mcp_call, a tool of the client a
// function_call. A call of a tool that waits is shown by its mcp_approval_request alone.
//
// Trust     Texts, arguments and outputs are hostile content; they become JSON strings only.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "agent/turn.h"
#include "store/ids.h"

namespace caisson::responses {

// The server_label of all tools of the host.
inline constexpr std::string_view kServerLabel = "caisson";

enum class ItemStatus { kInProgress, kCompleted, kIncomplete };

// The addresses of the images of runs, by run and number: data URLs, or paths of this server.
using ImageUrls = std::map<std::pair<RunId, std::uint32_t>, std::string>;

// The id that clients see.
std::string WireId(const TurnItem& item);

// Returns false for an item that clients do not see.
bool IsShown(const TurnItem& item);

bool IsImage(const TurnFile& file);
// The path at which this server returns the file to its owner.
std::string FilePath(const RunId& run, std::uint32_t number);

// kInProgress: as it is when it begins, without text and output.
std::string ItemJson(const TurnItem& item, ItemStatus status, const ImageUrls& images);
// The parts of a message, as in "content" of a finished message.
std::string PartJson(const model::Part& part, model::Role role);

}  // namespace caisson::responses
