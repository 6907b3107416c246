// EngineCell is the Cell of every engine whose cells are CellProtocols. It moves calls to the
// cell's lane and results back to the caller.
//
// Trust     See CellProtocol, which handles the messages.
// Threads   As Cell. Coroutines called from another executor also work: they switch to the lane and
//           resume on their own executor.
// Lifetime  Destroying it frees the cell and cancels a run in progress.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "engine/engine.h"
#include "engine/host/cell_protocol.h"
#include "engine/host/engine_lane.h"
#include "engine/unread_answers.h"

namespace caisson {

class EngineCell : public Cell, public UnreadAnswers {
 public:
  EngineCell(EngineLane& lane, OwnerId owner, Admission::Place place,
             std::chrono::nanoseconds queued);
  ~EngineCell() override;

  // Gives the cell its mounts, before it runs anything.
  void UseHostFiles(std::shared_ptr<HostFiles> files);

  // Offers a prepared cell for the first run.
  void UsePrepared(std::shared_ptr<PreparedCell> prepared);

  asio::any_io_executor executor() const override;
  asio::awaitable<Result<Outcome>> Run(RunRequest request, RunEvents& events,
                                       AfterRun after) override;
  asio::awaitable<Result<Outcome>> Continue(RunEvents& events, AfterRun after) override;
  Result<void> AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime now) override;
  asio::awaitable<Result<SavedCell>> Save(AfterSave after) override;
  void Cancel() override;
  bool holds_state() const override { return protocol_->idle(); }
  std::optional<Preparation> preparation() const override { return protocol_->preparation(); }

  std::size_t unread_answer_bytes() const override { return protocol_->unsent_bytes(); }

  const std::shared_ptr<CellProtocol>& protocol() const { return protocol_; }

 private:
  EngineLane& lane_;
  std::shared_ptr<CellProtocol> protocol_;  // Shared with the link.
};

}  // namespace caisson
