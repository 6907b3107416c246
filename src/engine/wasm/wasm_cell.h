// The Cell of the wasm engine: a front that brings callers to the cell's lane and back.
//
// Trust     See CellSession, which does the talking.
// Threads   As Cell says. Called from elsewhere, the coroutines still work: they hop to the lane and
//           resume on their own executor.
// Lifetime  Destroying it frees the cell in the worker, cancelling what runs.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/wasm/cell_session.h"
#include "engine/wasm/lane.h"

namespace caisson {

class WasmCell final : public Cell {
 public:
  WasmCell(Lane& lane, OwnerId owner, Admission::Place place, std::chrono::nanoseconds queued);
  ~WasmCell() override;

  asio::any_io_executor executor() const override;
  asio::awaitable<Result<Outcome>> Run(RunRequest request, RunEvents& events,
                                       AfterRun after) override;
  asio::awaitable<Result<Outcome>> Continue(RunEvents& events, AfterRun after) override;
  Result<void> Answer(std::uint32_t seq, ToolAnswer answer) override;
  asio::awaitable<Result<SavedCell>> Save(AfterSave after) override;
  void Cancel() override;

  // Fills the empty cell from saved bytes.
  asio::awaitable<Result<void>> Restore(SavedCell saved, Limits limits);

 private:
  Lane& lane_;
  std::shared_ptr<CellSession> session_;  // Shared with the worker's link.
};

}  // namespace caisson
