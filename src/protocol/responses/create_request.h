// A CreateRequest is the body of POST /responses, checked.
//
// Unknown fields are ignored, as clients of this API expect. Fields that would change the answer
// and that this server cannot honour are refused.
//
// Trust     The body is hostile: sizes, counts and depth are bounded. Items of a history are the
//           client's word: calls among them are finished calls without a run.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/turn.h"
#include "protocol/responses/api_error.h"
#include "wire/value.h"

namespace caisson::responses {

// The client names an item of its history that the server has.
struct ItemReference {
  std::string id;
};
using InputItem = std::variant<TurnItem, ItemReference>;

struct CreateRequest {
  std::string model{};  // The name of an agent; empty: the server's default.
  std::vector<InputItem> input{};
  // The other fields of the turn. `input`, `agent` and `door_data` are empty.
  TurnSpec turn{.agent = {}};
  bool stream = false;
  // The fields that a response repeats, as a JSON object.
  std::string echo{};
  std::string session{};  // agent_session_id, an extension of Foundry.
};

// On failure `refusal` says what is wrong.
std::optional<CreateRequest> ReadCreateRequest(std::string_view body, ApiError& refusal);

struct ConversationRequest {
  std::vector<TurnItem> items{};
  std::string metadata = "{}";
};
// {"items"?, "metadata"?}; null or nothing is an empty conversation.
std::optional<ConversationRequest> ReadConversationRequest(std::string_view body,
                                                           ApiError& refusal);

}  // namespace caisson::responses
