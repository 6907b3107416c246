// ReplyItems turns one reply of a model into items of a turn, while it arrives.
//
// Trust     Everything in a reply is hostile content.
// Threads   Those of its turn.
// Lifetime  The output outlives it. One object per reply.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/code_stream.h"
#include "agent/turn_output.h"
#include "model/model.h"

namespace caisson {

enum class CallKind { kCode, kTool, kClient };
using KindOfCall = std::function<CallKind(const std::string& tool)>;

struct CallOfReply {
  std::size_t index = 0;  // In the output.
  std::string arguments{};
};

class ReplyItems {
 public:
  ReplyItems(TurnOutput& output, KindOfCall kind_of)
      : output_(output), kind_of_(std::move(kind_of)) {}

  void OnDelta(const model::Delta& delta);
  // The reply is complete. Returns its calls. Those of the agent stay open. A ClientCall is done.
  std::vector<CallOfReply> Finish(const model::ModelReply& reply);
  // There is no more of the reply. What has arrived is marked as cut.
  void Cut();

 private:
  std::size_t Open(std::size_t item, TurnItem begun);
  std::size_t OpenMessage(std::size_t item);
  std::size_t OpenReasoning(std::size_t item);
  std::size_t OpenCall(std::size_t item, const std::string& call_id, const std::string& name);
  void AddText(std::size_t item, const std::string& text, ItemDelta::Kind kind);
  void FinishItem(std::size_t item, const model::MessageItem& message);
  void FinishItem(std::size_t item, const model::ReasoningItem& reasoning);
  void FinishItem(std::size_t item, const model::ToolCallItem& call);
  void FinishItem(std::size_t item, const model::ToolResultItem& result);

  TurnOutput& output_;
  const KindOfCall kind_of_;
  std::map<std::size_t, std::size_t> open_;  // Index in the reply to index in the output.
  std::map<std::size_t, std::string> arguments_;
  std::map<std::size_t, CodeStream> codes_;
  std::vector<CallOfReply> calls_;
};

// Returns the code and the other arguments of a call of execute_code. Fails with kInvalidArgument
// if they are wrong; the error says how.
struct CodeArguments {
  std::string code;
  Dict all;
};
Result<CodeArguments> ParseCodeArguments(std::string_view arguments);
// The arguments of a call of execute_code with this code.
std::string CodeArgumentsText(const std::string& code);
// Returns the arguments of a call of a tool: a JSON object. Nothing at all is an empty object.
Result<Dict> ParseArguments(std::string_view arguments);

}  // namespace caisson
