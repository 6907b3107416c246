// The properties of a native cell that must be known when it is made; all others are sent with its
// run.
//
// Trust     Values derived from checked limits.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/host/engine_lane.h"
#include "engine/native/cell_mounts.h"

namespace caisson {

struct CellVariety {
  std::uint32_t processes = 1;
  // Total size of its private files, including scratch files.
  std::uint64_t file_bytes = 64u << 20;
  std::uint32_t files = 4096;
  std::shared_ptr<const CellMounts> mounts{};  // Null: none. A cell with mounts equals no other.

  bool operator==(const CellVariety&) const = default;

  // Adds space for scratch files to the files that can be captured, so that nearly all runs can use
  // a cell of the default variety.
  static CellVariety For(const CellNeeds& needs, std::shared_ptr<const CellMounts> mounts = {}) {
    const CellVariety least;
    return {.processes = static_cast<std::uint32_t>(needs.processes),
            .file_bytes = std::max(least.file_bytes, needs.total_file_bytes),
            .files = std::max(least.files, static_cast<std::uint32_t>(
                                               std::min<std::uint64_t>(needs.files, UINT32_MAX))),
            .mounts = std::move(mounts)};
  }
};

}  // namespace caisson
