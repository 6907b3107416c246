// Reads the calls of a run: decodes them, finds their tools, binds and checks their arguments.
//
// Trust     Calls were written by an attacker. Each takes at most kMaxDecodedBytes of memory while it is read.
// Threads   Pure functions. A call of megabytes takes tens of milliseconds: not on a lane.
// Lifetime  Values.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "engine/engine.h"
#include "tools/call_journal.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace caisson {

struct ReadCall {
  std::shared_ptr<const Tool> tool{};  // Null if there is none of that name.
  Dict
      arguments{};  // By name; of a refused call as they came (WithPositional), if they could be decoded.
  std::size_t decoded_bytes = 0;  // What the arguments take in memory.
  bool needs_approval = false;
  std::optional<ToolRaised> refused{};  // Why nothing will be done for it.
};

ReadCall Read(ToolCall call, const ToolSet& tools);

// The call as a journal takes it, with its arguments as canonical text.
JournaledCall ToJournal(std::uint32_t seq, std::string name, ReadCall call);

// The most memory that decoding so many bytes, packed or canonical, takes: within kMaxDecodedBytes.
std::size_t MostDecodedBytes(std::size_t encoded_bytes);

}  // namespace caisson
