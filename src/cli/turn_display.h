// A TurnDisplay shows the events of turns as text: what the assistant says on stdout; its
// reasoning, code, calls and their output on stderr.
//
// Trust     Texts come from models and from running code. They are written with WriteGuest.
// Threads   One. Writing may block.
// Lifetime  Borrows the outputs. Serves all turns of a chat.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "agent/turn.h"
#include "cli/output.h"

namespace caisson::cli {

class TurnDisplay {
 public:
  TurnDisplay(Output& out, Output& err) : out_(out), err_(err) {}

  void Show(const TurnEvent& event);
  // Says why a turn ended without an answer; nothing for other turns.
  void ShowEnding(const TurnView& turn);

 private:
  using Kind = ItemDelta::Kind;

  // Parts of several items can arrive in turns. A new part begins with a heading.
  void Write(const std::string& item, Kind kind, std::string_view text);
  void Begin(const std::string& item, Kind kind);
  // Writes the part of `text` that has not been written yet.
  void Complete(const std::string& item, Kind kind, std::string_view text);
  void ShowDone(const TurnItem& item);
  void ShowCode(const std::string& item, const CodeCall& call);
  void ShowCall(const std::string& item, const HostToolCall& call);
  void FinishLines();

  Output& out_;
  Output& err_;
  std::string item_;  // The item and the kind of what was written last.
  Kind kind_ = Kind::kText;
  std::map<std::string, std::string> tools_;                     // The tool of each call.
  std::map<std::pair<std::string, Kind>, std::string> written_;  // Of items that are not done.
  // The code and the arguments of calls that wait. The turn that continues a call begins with them
  // again; they are not shown twice.
  std::set<std::string, std::less<>> waiting_;
};

// Returns the event as one line of JSON:
//   {"event":"text","item":"msg_…","text":"…"}         also refusal, reasoning, code, arguments,
//                                                       output: pieces as they arrive
//   {"event":"done","item":{…}}                        the whole item
// and "" for other events.
std::string ToJsonLine(const TurnEvent& event);
// {"event":"turn","id":"resp_…","state":"completed","ending":null,"error":null}
std::string ToJsonLine(const TurnView& turn);

}  // namespace caisson::cli
