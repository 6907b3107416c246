// A Thread is what is stored of a conversation: the messages and the state that a client shows, the
// turn that it continues from, and what is open. It is stored by owner, agent and thread id.
//
// The stored messages are authoritative. Of a request only new messages of the user and results of
// open calls are taken; everything else in it is forged or known.
//
// Trust     Contents are hostile data. The body comes from the store and is checked when read.
// Threads   Values and pure functions.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/turn.h"
#include "base/clock.h"
#include "base/result.h"
#include "protocol/agui/run_input.h"
#include "store/ids.h"
#include "wire/value.h"

namespace caisson::agui {

inline constexpr std::size_t kMaxThreadBytes = 8u << 20;

// The door's own tool, by which the model changes the state.
inline constexpr std::string_view kStateTool = "update_state";

struct OpenInterrupt {
  std::string id;  // Of the approval.
  std::string tool_call;
  std::string tool;
  Dict arguments{};
  std::optional<SystemTime> expires_at{};
};
// A call that has been shown and waits for a decision. Its result comes in a later turn, with the
// same run.
struct WaitingCall {
  std::string run;
  std::string tool_call;
};
struct OpenClientCall {
  std::string tool_call;  // As the client knows it.
  std::string call_id;    // As the model knows it.
  std::string tool;
  std::string arguments{};
};
struct RunUnderWay {
  std::string run_id;  // The client's.
  ResponseId turn;
  std::size_t messages = 0;  // The number of stored messages before it.
  SystemTime since{};
};

struct Thread {
  std::vector<Value> messages{};
  Value state = Dict{};
  std::optional<ResponseId> turn{};  // The last one whose output is in `messages`.
  std::string last_run{};            // The client's id of the last run.
  std::optional<RunUnderWay> under_way{};
  std::vector<OpenInterrupt> interrupts{};
  std::vector<WaitingCall> waiting{};
  std::vector<OpenClientCall> client_calls{};
  std::map<std::string, std::string>
      state_results{};  // Of the state tool, by call id of the model.
};

// Fails with kResourceExhausted if the thread is too long to be stored.
Result<std::string> Encode(const Thread& thread);
Result<Thread> DecodeThread(std::string_view body);

// Two threads never have the same id, whatever characters their names have.
DocumentId ThreadDocument(std::string_view agent, std::string_view thread_id);

// Adds the output of a turn that has ended. Adding it twice changes nothing.
void AddOutput(Thread& thread, const TurnView& turn);

// What a request adds to the thread.
struct News {
  std::vector<Value> messages{};  // To store.
  std::vector<TurnItem> input{};  // For the turn: user messages, and results of client calls.
  std::string instructions{};     // Of the request.
  bool has_user_message = false;
  std::size_t results = 0;  // Number of open client calls that are answered.
};
News NewsIn(const RunInput& input, const Thread& thread);

// The results of the state tool, for the next turn.
std::vector<TurnItem> StateResults(const Thread& thread);
ResponseId NewTurnId();

// Replaces the members that `from` has. Other members stay; a state that is no object replaces all.
void MergeState(Value& state, const Value& from);
bool IsEmptyState(const Value& state);

// The messages that show an item of a turn. `tool_call`: the id of its call.
std::vector<Value> MessagesOf(const TurnItem& item, const std::string& tool_call, bool is_shown);
// The id under which clients know the call: that of the first item with its run.
std::string ToolCallOf(const TurnItem& item, const std::vector<WaitingCall>& waiting);
std::string ResultMessageId(const std::string& tool_call, const std::string& item);

}  // namespace caisson::agui
