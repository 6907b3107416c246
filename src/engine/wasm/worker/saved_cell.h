// The format of a saved cell: the complete state of a parked or idle cell, without its program.
//
//   magic, build id, hash of the base · state, used budgets, clocks · calls and answers · files ·
//   stack
//   then for each page that differs from the base: u32 page, u64 mask of its 64-byte blocks that
//   differ, those blocks
//
// Trust     The stack holds return addresses into this program. Only this build can restore it, and
//           an attacker who could forge it would control the worker. The host seals blobs and
//           verifies them before a worker sees them. The checks here are a second line against
//           mistakes and damage. They allocate nothing beyond the content of the blob.
// Threads   Pure functions.
// Lifetime  Decoded fields are views of the blob.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/wasm/worker/chance.h"

namespace caisson::worker {

// The build and base that a blob is bound to.
struct SavedIdentity {
  std::span<const std::uint8_t> build_id;
  std::span<const std::uint8_t> base_hash;
};

struct SavedFields {
  bool parked = false;
  bool recorded = false;
  std::uint64_t wall_ns = 0;  // Wall time used so far.
  std::uint64_t cpu_ns = 0;
  std::uint64_t monotonic_ns = 0;  // The cell's monotonic clock when it was saved.
  std::uint64_t real_ns = 0;       // The real time when it was saved.
  std::string_view trace_part;     // The trace (trace.h).
  std::uint64_t trace_bytes = 0;
  ChanceStream chance;
  std::uint32_t flags = 0;
  std::uint64_t written_bytes[2] = {};

  std::uint32_t calls = 0;
  std::int32_t wait_seq = 0;
  bool wait_varies = false;
  std::uint64_t wake_ns = 0;  // Real time: the cell sleeps until then. 0: it does not sleep.
  std::vector<std::uint32_t> open_calls;
  std::vector<std::pair<std::uint32_t, std::string_view>> answers;
  std::vector<std::string_view> messages;

  std::vector<std::pair<std::string_view, std::string_view>> inputs;  // Path, contents.
  std::span<const std::uint8_t> files;                                // CellFiles::Save.

  std::uint32_t wasm_pages = 0;
  std::uint32_t stack_global = 0;
  std::uint64_t stack_pointer = 0;
  std::span<const std::uint8_t> stack;
  std::span<const std::uint8_t> pages;  // EncodeSaved does not write them: append them.
};

void EncodeSaved(const SavedIdentity& identity, const SavedFields& fields, std::string& out);

// Fails with kFailedPrecondition if another build saved the cell, and with kInvalidArgument if the
// blob is damaged.
Result<SavedFields> DecodeSaved(const SavedIdentity& identity, std::span<const std::uint8_t> blob);

// Appends the difference between the page `now` and `before`; appends nothing if they are equal.
void AppendChangedPage(std::uint32_t page, const std::uint8_t* now, const std::uint8_t* before,
                       std::string& out);

// Writes changed pages into `memory`.
Result<void> ApplyChangedPages(std::span<const std::uint8_t> pages, std::span<std::uint8_t> memory);

}  // namespace caisson::worker
