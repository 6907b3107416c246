// The bodies of the Responses door. A request that is accepted keeps the contract of
// create_request.h: no call of a history has a run, ids are safe, and the echo is JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/responses/create_request.h"
#include "protocol/responses/wire_id.h"
#include "wire/json.h"

namespace {

using namespace caisson;  // NOLINT(google-build-using-namespace)

void Check(bool holds) {
  if (!holds) std::abort();
}

void CheckItem(const TurnItem& item) {
  Check(responses::IsWireId(item.id));
  if (const auto* call = std::get_if<HostToolCall>(&item.content)) {
    Check(call->run.str().empty() && call->progress != CallProgress::kWaiting);
  }
  if (const auto* code = std::get_if<CodeCall>(&item.content)) {
    Check(code->run.str().empty() && code->progress != CallProgress::kWaiting);
  }
  if (const auto* asked = std::get_if<ApprovalRequest>(&item.content)) {
    Check(responses::IsWireId(asked->approval.str()) && asked->arguments.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  responses::ApiError refusal{.message = {}};
  if (const auto request = responses::ReadCreateRequest(text, refusal)) {
    for (const responses::InputItem& item : request->input) {
      if (const auto* own = std::get_if<TurnItem>(&item)) CheckItem(*own);
    }
    const TurnSpec& turn = request->turn;
    Check(!turn.previous || responses::IsWireId(turn.previous->str()));
    Check(!turn.conversation || responses::IsWireId(turn.conversation->str()));
    Check(!turn.previous || !turn.conversation);
    Check(ParseJson(request->echo).has_value());
  }
  if (const auto conversation = responses::ReadConversationRequest(text, refusal)) {
    for (const TurnItem& item : conversation->items) CheckItem(item);
    Check(ParseJson(conversation->metadata).has_value());
  }
  return 0;
}
