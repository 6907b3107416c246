// Reads the calls of a run: decodes them, finds their tools, binds and checks their arguments.
//
// Trust     Calls were written by an attacker. Each takes at most kMaxDecodedBytes of memory while
//           it is read.
// Threads   Pure functions. A call of megabytes takes tens of milliseconds, so do not read it on a
//           lane.
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
  std::shared_ptr<const Tool> tool{};  // Null if no tool has that name.
  Dict arguments{};  // By name. For a refused call as received (WithPositional), if decodable.
  std::size_t decoded_bytes = 0;  // The memory that the arguments take.
  bool needs_approval = false;
  std::optional<ToolRaised> refused{};  // The reason why nothing is done for it.
};

ReadCall Read(ToolCall call, const ToolSet& tools);

// Returns the call in the form of a journal, with its arguments as canonical text.
JournaledCall ToJournal(std::uint32_t seq, std::string name, ReadCall call);

// Returns the most memory that decoding this many bytes, packed or canonical, takes: at most
// kMaxDecodedBytes.
std::size_t MostDecodedBytes(std::size_t encoded_bytes);

}  // namespace caisson
