// Reads the body of POST /agui/{name}: a RunAgentInput of AG-UI 1.0. Names may be in camelCase or
// snake_case; other names are ignored, as the protocol demands.
//
// Trust     The body is hostile. Counts and sizes are bounded, types are checked, null counts as
//           absent. Its messages are only the client's word about the thread (thread.h).
// Threads   Pure functions. Not for an event loop if the body is large.
// Lifetime  Values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/conversation.h"
#include "model/model.h"
#include "wire/value.h"

namespace caisson::agui {

inline constexpr std::size_t kMaxBodyBytes = 8u << 20;
inline constexpr std::size_t kMaxIdBytes = 256;
inline constexpr std::size_t kMaxMessages = 10'000;
inline constexpr std::size_t kMaxTools = 100;
inline constexpr std::size_t kMaxContext = 128;
inline constexpr std::size_t kMaxStateBytes = 256u << 10;  // Of memory, as DecodedBytes counts.

enum class MessageRole { kInstructions, kUser, kAssistant, kTool, kOther };

struct InputMessage {
  std::string id;
  MessageRole role = MessageRole::kOther;
  std::vector<model::Part> parts{};  // Of instructions, users and tools.
  Value content{};                   // As it came, for the stored message.
  std::string tool_call_id{};        // Of a tool's result.
  bool is_error = false;
};

struct ContextEntry {
  std::string description;
  std::string value;
};

struct RunInput {
  std::string thread_id{};
  std::string run_id{};
  std::optional<Value> state{};
  std::vector<InputMessage> messages{};
  std::vector<model::ToolDeclaration> tools{};
  std::vector<ContextEntry> context{};
  std::optional<Value> resume{};  // As it came; see resume.h.
};

// Fails with kInvalidArgument, with the name and what is wrong.
Result<RunInput> ParseRunInput(std::string_view body);

// Returns the value of the field under the first of its names that is present and not null; null if
// there is none.
const Value* FindField(const Dict& object, std::string_view camel, std::string_view snake);

}  // namespace caisson::agui
