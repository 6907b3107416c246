// An image of an idle cell: all data that another cell of the same fork server needs to become a
// copy of it (ADR 37).
//
// It contains, in this order: the state of the process (kernel_state.h), its private files
// (private_tree.h), and the steps that turn the memory of any fresh cell into this one's
// (transplant.h performs them). The last step continues where this cell is.
//
// Trust     The process that writes it was under full control of hostile code. Readers of an image
//           treat it like that code.
// Threads   One: there must be no other.
// Lifetime  The cell continues as if nothing had happened.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/native/forkserver/baseline.h"
#include "engine/native/forkserver/process_map_reader.h"
#include "engine/native/forkserver/raw_frames.h"

namespace caisson::forkserver {

// The changes to memory, performed in order.
enum class StepKind : std::uint32_t {
  kUnmap,
  kBreak,      // Sets the end of the heap to `begin`.
  kGrowStack,  // Extends the stack down to `begin`, from `end`.
  kMap,        // Maps anonymous memory.
  kMapFile,    // Maps the file whose path follows.
  kProtect,
  kDiscard,  // Restores the original contents.
  kFill,     // Writes the bytes that follow.
  kJump,     // Jumps to the ucontext_t at `begin`.
};

struct Step {
  StepKind kind{};
  std::uint32_t access = 0;  // ProcessMapAccess.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // For kMapFile, like the following fields.
  std::uint64_t inode = 0;
  std::uint32_t path_length = 0;
  std::uint32_t path_at = 0;  // Position in the process map.
};

enum class Self {
  kSource,  // The image was sent, as one kSaved message.
  kBranch,  // This is another process that has become a copy. Its scratch has the state to apply.
};

// Uses no memory except the stack and the scratch. Fails with a readable reason before anything is
// sent.
Result<Self> SendImage(const Baseline& baseline, const ProcessMapReader& process_map, int socket,
                       std::uint64_t max_bytes);

}  // namespace caisson::forkserver
