// An EventWriter translates the events of a turn into the events of a response stream.
//
//   response.created, response.in_progress,
//   for each item: response.output_item.added … response.output_item.done,
//   one of response.completed, response.incomplete, response.failed
//
// The result depends on the events and the images only. A replay therefore gives each event the
// number that it had before. A call of a tool of the host is written when it has ended, because
// only then it is known whether it waited for an approval (see IsShown).
//
// Trust     Texts are hostile content; they become JSON strings only. The number of events is
//           bounded by the turn.
// Threads   One.
// Lifetime  That of one stream.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/turn.h"
#include "base/json_object.h"
#include "net/sse.h"
#include "protocol/responses/response_json.h"

namespace caisson::responses {

class EventWriter {
 public:
  explicit EventWriter(ResponseFacts facts) : facts_(std::move(facts)) {}

  // Each call returns the new events. `images`: those of the item, if it is finished code.
  std::vector<net::Event> Write(const TurnEvent& event, const ImageUrls& images);
  // Ends items that are still open, and the stream.
  std::vector<net::Event> Finish(const TurnView& turn, const ImageUrls& images);

 private:
  // An item whose end has not come.
  struct Open {
    std::size_t index = 0;
    TurnItem item;             // With the text so far, and with the id that clients see.
    std::size_t parts = 0;     // Of a message; the last one is open.
    bool has_summary = false;  // Of reasoning: its part was opened.
    bool code_ended = false;
  };

  void Put(std::string_view type, JsonObject fields);
  JsonObject At(const Open& open) const;
  void PutItem(std::string_view type, const Open& open, ItemStatus status, const ImageUrls& images);
  void Begin();
  Open& Add(const TurnItem& item);
  void Delta(Open& open, const ItemDelta& delta);
  void End(Open& open, const TurnItem& item, ItemStatus status, const ImageUrls& images);

  void OpenPart(Open& open, const model::Part& part);
  void PartDelta(const Open& open, const model::Part& part, std::string_view text);
  void ClosePart(const Open& open, const model::Part& part);
  void EndMessage(Open& open, const model::MessageItem& message);
  void ReasoningDelta(Open& open, std::string_view text);
  void EndReasoning(Open& open, const model::ReasoningItem& reasoning);
  void EndCode(Open& open, const std::string& code);
  void EndCall(const Open& open, const HostToolCall& call);
  void EndArguments(const Open& open, const ClientCall& streamed, const ClientCall& call);

  const ResponseFacts facts_;
  std::uint64_t next_number_ = 0;
  std::size_t next_index_ = 0;
  bool begun_ = false;
  std::map<std::string, Open> open_;  // By TurnItem::id.
  std::vector<net::Event> events_;
};

}  // namespace caisson::responses
