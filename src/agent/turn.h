// A turn is one answer of an agent: the model's replies, the code and the tools that it uses, until
// the model writes text without calls. These are the values that describe a turn.
//
// Every call of a turn, also a call of a single tool, is a run (runs/run_service.h). The run has
// the journal, the approvals and the limits; the turn only remembers the run's id. A call is
// therefore made at most once (I6), waits by itself, and continues on any replica.
//
// Trust     Texts come from clients, models and cells, and are data. Ids of calls come from models
//           and are unique only within one turn.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "caller/caller_context.h"
#include "model/conversation.h"
#include "model/model.h"
#include "store/ids.h"

namespace caisson {

enum class CallProgress {
  kRunning,
  kWaiting,    // For an approval.
  kCompleted,  // The result is known, also if the tool or the code raised.
  kFailed,     // The call could not be made, was denied, or hit a limit.
};

struct TurnFile {
  std::string path;  // As the code sees it.
  std::string media_type{};
  std::uint64_t bytes = 0;
  std::uint32_t number = 0;  // For RunService::File.
};

// Code that the model wrote for execute_code.
struct CodeCall {
  std::string call_id;  // The model's.
  std::string code;
  RunId run = RunId("");
  CallProgress progress = CallProgress::kRunning;
  std::string logs{};  // Output, value and error, as the model reads them.
  std::vector<TurnFile> files{};
  bool is_error = false;
};
// A tool of the host that the model called without code.
struct HostToolCall {
  std::string call_id;
  std::string tool;
  std::string arguments;  // JSON.
  RunId run = RunId("");
  CallProgress progress = CallProgress::kRunning;
  std::string output{};  // As the model reads it.
  bool is_error = false;
  std::optional<ApprovalId> approval{};  // The decision that it needed.
};
// A tool of the client: the turn ends, and the client sends a ClientResult with the next turn.
struct ClientCall {
  std::string call_id;
  std::string tool;
  std::string arguments;
};
struct ClientResult {
  std::string call_id;
  std::vector<model::Part> parts{};
};
// A call that waits for a decision: a HostToolCall, or a call that running code makes.
struct ApprovalRequest {
  ApprovalId approval;
  std::string call_item;  // The id of the CodeCall or HostToolCall that waits.
  std::string tool;
  std::string arguments;  // The presentation of the text that was hashed (approval/presentation.h).
  SystemTime expires_at{};
};
struct ApprovalAnswer {
  ApprovalId approval;
  bool approve = false;
  std::string reason{};
  // Arguments to change before the call is executed: Answer::changes (approval/desk.h).
  std::optional<Dict> changes{};
};

struct TurnItem {
  std::string id;  // Unique within the owner's history: "msg_...", "rs_...", "ci_...", ...
  std::variant<model::MessageItem, model::ReasoningItem, CodeCall, HostToolCall, ClientCall,
               ClientResult, ApprovalRequest, ApprovalAnswer>
      content;
  bool is_cut = false;  // The model did not finish it.
};

enum class TurnState {
  kQueued,
  kRunning,
  kWaiting,     // Ended with open approvals or calls for the client.
  kCompleted,   // The model has answered.
  kIncomplete,  // A limit ended it; `ending` says which.
  kFailed,
  kCancelled,
};
// Why a turn ended without an answer.
enum class TurnEnding {
  kNone,
  kIterations,    // The model called tools too often in a row.
  kErrors,        // Too many calls in a row failed.
  kCalls,         // Too many calls.
  kTokens,        // Too many tokens in this turn.
  kOutputTokens,  // The reply reached max_output_tokens.
  kContentFilter,
  kWallTime,
  kModel,  // The model failed.
  kStore,
};

struct TurnLimits {
  std::uint32_t iterations = 40;
  std::uint32_t consecutive_errors = 3;
  std::uint32_t calls = 128;
  std::uint64_t tokens = 1'000'000;  // Input and output of all replies.
  std::chrono::seconds wall{600};    // Without the time that it waits for decisions.
};

// What the client asks of one turn.
struct TurnSpec {
  std::string agent;
  std::optional<ResponseId> id{};  // nullopt: the service chooses one.
  std::vector<TurnItem> input{};   // Messages, ClientResults, ApprovalAnswers; whole histories too.
  std::optional<ResponseId> previous{};          // The turn that this one follows.
  std::optional<ConversationId> conversation{};  // Not together with `previous`.
  std::string instructions{};                    // Besides the agent's own.
  std::vector<model::ToolDeclaration> client_tools{};
  model::ToolChoice tool_choice{};
  std::optional<bool> parallel_tool_calls{};
  std::optional<std::uint64_t> max_output_tokens{};
  std::optional<std::uint32_t> max_calls{};
  std::optional<double> temperature{};
  std::optional<double> top_p{};
  enum class Keep { kYes, kNo };
  Keep keep = Keep::kYes;  // kNo: the turn cannot be found afterwards, and cannot wait.
  enum class Style { kForeground, kBackground };
  Style style = Style::kForeground;  // A background turn survives its client and keeps its events.
  std::string answered_by{};         // Who gives the ApprovalAnswers, for the audit log.
  std::string door_data{};           // Opaque; returned with the turn.
  std::shared_ptr<const CallerContext> caller{};
};

struct TurnView {
  ResponseId id = ResponseId("");
  std::string agent{};
  TurnState state = TurnState::kRunning;
  TurnEnding ending = TurnEnding::kNone;
  std::string error{};  // For a client, if the turn failed.
  std::vector<TurnItem> input{};
  std::vector<TurnItem> output{};
  model::TokenUsage usage{};
  std::string model{};
  std::optional<ResponseId> previous{};
  std::optional<ConversationId> conversation{};
  TurnSpec::Style style = TurnSpec::Style::kForeground;
  std::string door_data{};
  SystemTime created_at{};
  SystemTime ended_at{};
};

// The events of a turn, in order. The output items of a TurnView result from them.
struct TurnBegan {};
struct ItemAdded {
  TurnItem item;  // As it is when it begins: without text, arguments or output.
};
// More text of a message (`part` counts its parts), reasoning, code, or arguments of a call.
struct ItemDelta {
  std::string item;
  enum class Kind { kText, kRefusal, kReasoning, kCode, kArguments, kOutput };
  Kind kind = Kind::kText;  // kOutput: output of running code.
  std::string text;
};
struct ItemDone {
  TurnItem item;
};
struct TurnEnded {
  TurnState state = TurnState::kCompleted;
};
struct TurnEvent {
  std::uint64_t number = 0;  // From 0, without gaps.
  std::variant<TurnBegan, ItemAdded, ItemDelta, ItemDone, TurnEnded> event;
};

}  // namespace caisson
