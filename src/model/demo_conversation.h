// The conversation as the demo model sees it.
//
// Trust     The request is data.
// Threads   Pure functions.
// Lifetime  Pointers into a request are valid as long as the request.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace caisson::model {

struct DemoConversation {
  std::string prompt;                          // The newest message of the user.
  bool has_code = false;                       // It contains code.
  bool names_tool = false;                     // It begins with "call".
  std::string keywords;                        // In lower case; empty in the two cases above.
  std::vector<const ToolResultItem*> results;  // Since then.
  int calls = 0;                               // Since then.
  int all_calls = 0;
  std::size_t words = 0;
};

DemoConversation ReadConversation(const ModelRequest& request);

// Returns the text of the parts, one below the other.
std::string TextOf(const std::vector<Part>& parts);

// Cuts a text after each word. Together the pieces are the text.
std::vector<std::string_view> CutIntoWords(std::string_view text);
std::size_t CountWords(std::string_view text);

}  // namespace caisson::model
