// The Cell of engine `auto`: a cell of engine wasm, until its first run turns out to need engine
// native, or a copy of a cell that did.
//
// Trust     As AutoEngine.
// Threads   As Cell. Its executor is always that of its first cell.
// Lifetime  As Cell.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/guarded.h"
#include "base/result.h"
#include "engine/auto/auto_engine.h"
#include "engine/engine.h"
#include "engine/unread_answers.h"

namespace caisson {

class AutoCell final : public Cell, public UnreadAnswers {
 public:
  enum class State {
    kFresh,
    kUsed,    // Holds state of earlier runs and stays in its engine.
    kNative,  // The same, in engine native.
  };

  AutoCell(AutoEngine& engine, OpenOptions options, std::unique_ptr<Cell> cell, State state);
  ~AutoCell() override;

  asio::any_io_executor executor() const override { return executor_; }
  bool holds_state() const override { return cell()->holds_state(); }
  std::optional<Preparation> preparation() const override;
  asio::awaitable<Result<Outcome>> Run(RunRequest request, RunEvents& events,
                                       AfterRun after) override;
  asio::awaitable<Result<Outcome>> Continue(RunEvents& events, AfterRun after) override;
  Result<void> AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime now) override;
  asio::awaitable<Result<SavedCell>> Save(AfterSave after) override;
  void Cancel() override;
  std::size_t unread_answer_bytes() const override;

 private:
  class Relay;
  // The state that Cancel needs, from any thread.
  struct Active {
    std::shared_ptr<Cell> cell;  // Shared with answers on their way to another lane.
    bool moving = false;         // Switching between two cells.
    bool cancelled = false;      // Cancelled while it was moving.
  };

  asio::awaitable<Result<Outcome>> MoveAndRun(RunRequest request, RunEvents& events,
                                              AfterRun after);
  asio::awaitable<Result<Outcome>> RunNative(RunRequest request, RunEvents& events, AfterRun after);
  bool FinishMove(std::shared_ptr<Cell> cell);
  std::shared_ptr<Cell> cell() const { return active_.Lock()->cell; }

  AutoEngine& engine_;
  OpenOptions options_;
  const asio::any_io_executor executor_;
  State state_;
  bool native_ = false;
  std::shared_ptr<Relay> relay_;  // Of the current native run.
  mutable Guarded<Active> active_;
};

}  // namespace caisson
