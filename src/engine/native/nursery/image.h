// An image of a cell that is idle: all that another cell of the same nursery needs to become it (ADR 37).
//
// In this order: the state of the process (kernel_state.h), its private files (private_tree.h), and steps that turn the memory of
// any fresh cell into this one's (transplant.h takes them), the last of which goes on where this one is.
//
// Trust     Written by a process that hostile code had to itself: whoever reads an image treats it as that code.
// Threads   One: there must be no other.
// Lifetime  The cell goes on as if nothing had happened.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/native/nursery/raw_frames.h"
#include "engine/native/nursery/stem.h"
#include "engine/native/nursery/survey.h"

namespace caisson::nursery {

// What is to be done to memory, one after the other.
enum class StepKind : std::uint32_t {
  kUnmap,
  kBreak,      // The end of the heap is `begin`.
  kGrowStack,  // Down to `begin`, from `end`.
  kMap,        // Anonymous memory.
  kMapFile,    // Of the file whose path follows.
  kProtect,
  kDiscard,  // What is there again is what was there first.
  kFill,     // What follows.
  kJump,     // To the ucontext_t at `begin`.
};

struct Step {
  StepKind kind{};
  std::uint32_t access = 0;  // SurveyedAccess.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  // kMapFile, and what follows:
  std::uint64_t inode = 0;
  std::uint32_t path_length = 0;
  std::uint32_t path_at = 0;  // In the survey.
};

enum class Self {
  kSource,  // The image is sent, as one kSaved.
  kBranch,  // This is another process, which has become the one that sent it. Its scratch has the state to apply.
};

// Uses no memory but the stack and the scratch. Fails, with a reason for people, before anything is sent.
Result<Self> SendImage(const Stem& stem, const Survey& survey, int socket, std::uint64_t max_bytes);

}  // namespace caisson::nursery
