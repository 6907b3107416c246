// The ids that clients see: "resp_…", "conv_…", "msg_…", and "mcpr_…" for approvals.
//
// Trust     Ids from clients are hostile. IsWireId accepts letters, digits, "_" and "-" only, so
//           that an id can be a part of a path and of a message.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/ids.h"

namespace caisson::responses {

inline constexpr std::size_t kMaxIdBytes = 128;

bool IsWireId(std::string_view id);

// Returns the prefix and 32 random hexadecimal digits.
std::string NewWireId(std::string_view prefix);

// The id of an item of a response: "msg_…--resp_…". It says where the item is, so that a client can
// refer to the item by its id alone. Items of a conversation have the first half only.
std::string ItemWireId(std::string_view item, std::string_view response);
struct ItemName {
  std::string_view item;
  std::string_view response{};  // Empty: the id does not say it.
};
// The result points into `id`.
ItemName ParseItemWireId(std::string_view id);

// A client names an approval by the id of its mcp_approval_request.
std::string ApprovalWireId(const ApprovalId& approval);
// Returns nullopt if it is no such id.
std::optional<ApprovalId> ParseApprovalWireId(std::string_view id);

}  // namespace caisson::responses
