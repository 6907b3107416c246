// GuestHost implements the functions that a guest imports. It is a cell or, when the base is made,
// the boot.
//
// Trust     Called with arbitrary numbers that the guest chose; implementations check them.
// Threads   The worker's only thread.
// Lifetime  `current` is set exactly while guest code runs.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/wasm/worker/files/cell_files.h"
#include "engine/wasm/worker/guest_memory.h"
#include "engine/wasm/worker/wasi.h"

namespace caisson::worker {

class GuestHost : public CellServices {
 public:
  virtual GuestMemory guest_memory() = 0;
  virtual CellFiles& files() = 0;

  // See guest/abi.h. nullopt: a slice is done; call again with the same arguments.
  virtual std::optional<std::int32_t> Post(std::uint32_t address, std::uint32_t length,
                                           Progress& progress) = 0;
  virtual std::optional<std::uint32_t> Take(std::uint32_t address, std::uint32_t capacity,
                                            Progress& progress) = 0;
  // False: a slice is done, call again with the same arguments.
  virtual bool Report(std::uint32_t address, std::uint32_t length, Progress& progress) = 0;

  // A WASI call returned kPending: sends the request of the files to the host. The import then
  // leaves the guest as host_wait does and repeats the call when the guest continues.
  virtual void AskHost() = 0;

  // memory.grow: returns the old number of pages, or UINT32_MAX.
  virtual std::uint32_t Grow(std::uint32_t delta) = 0;

  static inline GuestHost* current = nullptr;
};

}  // namespace caisson::worker
