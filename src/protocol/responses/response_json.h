// The JSON form of a response: all fields that clients may expect, those of the request as they
// came.
//
//   {"id":"resp_…","object":"response","status":"completed","model":"analyst","output":[…],…}
//
// Trust     Texts are hostile content; they become JSON strings only. `echo` is JSON that
//           create_request.h has made, and is read again as such.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/turn.h"
#include "base/clock.h"
#include "protocol/responses/item_json.h"
#include "store/ids.h"

namespace caisson::responses {

// `echo`: the fields of the request that a response repeats (CreateRequest::echo).
struct ResponseFacts {
  std::string id;
  std::string agent;
  std::string echo{};
  std::optional<ResponseId> previous{};
  std::optional<ConversationId> conversation{};
  TurnSpec::Style style = TurnSpec::Style::kForeground;
  SystemTime created_at{};
};
// A response whose turn has just begun.
std::string BegunResponseJson(const ResponseFacts& facts, std::string_view status);
// A response as its turn is now.
std::string ResponseJson(const TurnView& turn, const ImageUrls& images);

std::string_view StatusOf(const TurnView& turn);
bool HasEnded(const TurnView& turn);

}  // namespace caisson::responses
