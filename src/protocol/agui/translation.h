// A Translation turns the events of one turn into events of AG-UI, in an order that clients accept:
// what begins also ends, and nothing is continued after its end.
//
//   message      TEXT_MESSAGE_START, CONTENT..., END
//   reasoning    REASONING_START, REASONING_MESSAGE_START, CONTENT..., END, REASONING_END
//   call         STEP_STARTED, TOOL_CALL_START, ARGS..., END, RESULT, STEP_FINISHED
//   code         the same as a call of execute_code, with CUSTOM caisson.output and caisson.files
//
// The result of a call that waited in an earlier turn belongs to the call that was shown then.
//
// Trust     Texts are hostile content. Ids of items are those of the turn service.
// Threads   One thread at a time.
// Lifetime  That of following one turn.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/turn.h"
#include "protocol/agui/thread.h"
#include "wire/value.h"

namespace caisson::agui {

// kPiece: a part of something that MESSAGES_SNAPSHOT has as a whole.
enum class Weight { kNeeded, kPiece };
using Emit = std::function<void(Dict event, Weight weight)>;

class Translation {
 public:
  // `waiting`: the calls that wait since earlier turns.
  Translation(std::vector<WaitingCall> waiting, Emit emit)
      : waiting_(std::move(waiting)), emit_(std::move(emit)) {}

  void Take(const TurnEvent& event);
  // Ends what is open; the turn has ended.
  void CloseAll();

 private:
  struct OpenItem {
    enum class Kind { kMessage, kReasoning, kCall, kCode };
    Kind kind = Kind::kMessage;
    std::string id;         // Of the message or the call.
    std::string step{};     // Open until the end of the call; empty: none.
    bool has_text = false;  // A piece was sent.
    bool ended = false;     // Of a call: its arguments are complete.
  };

  void Begin(const TurnItem& item);
  void BeginCall(const TurnItem& item, const std::string& name, OpenItem::Kind kind);
  void Continue(const ItemDelta& delta);
  void Finish(const TurnItem& item);
  void FinishMessage(OpenItem& open, const model::MessageItem& message);
  void FinishReasoning(OpenItem& open, const model::ReasoningItem& reasoning);
  void FinishCode(OpenItem& open, const TurnItem& item, const CodeCall& call);
  void FinishTool(OpenItem& open, const TurnItem& item, const HostToolCall& call);
  void Result(const OpenItem& open, const std::string& item, const std::string& text);
  void Piece(OpenItem& open, ItemDelta::Kind kind, const std::string& text);
  void EndArguments(OpenItem& open);
  void Close(OpenItem& open);
  void Send(Dict event, Weight weight = Weight::kNeeded) { emit_(std::move(event), weight); }

  const std::vector<WaitingCall> waiting_;
  const Emit emit_;
  std::map<std::string, OpenItem> open_;  // By item.
};

}  // namespace caisson::agui
