#include "tests/durable/killing_engine.h"

#include <utility>

#include "tests/durable/windows.h"

namespace caisson::testing {
namespace {

class KillingCell final : public Cell {
 public:
  explicit KillingCell(std::unique_ptr<Cell> cell) : cell_(std::move(cell)) {}

  asio::any_io_executor executor() const override { return cell_->executor(); }
  asio::awaitable<Result<Outcome>> Run(RunRequest request, RunEvents& events,
                                       AfterRun after) override {
    return cell_->Run(std::move(request), events, after);
  }
  asio::awaitable<Result<Outcome>> Continue(RunEvents& events, AfterRun after) override {
    return cell_->Continue(events, after);
  }
  Result<void> AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime now) override {
    return cell_->AnswerAt(seq, std::move(answer), now);
  }
  asio::awaitable<Result<SavedCell>> Save(AfterSave after) override {
    PassStep("save:before");
    auto saved = co_await cell_->Save(after);
    PassStep("save:after");
    co_return saved;
  }
  void Cancel() override { cell_->Cancel(); }
  bool holds_state() const override { return cell_->holds_state(); }

 private:
  const std::unique_ptr<Cell> cell_;
};

class KillingEngine final : public Engine {
 public:
  using Opened = Result<std::unique_ptr<Cell>>;

  explicit KillingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  asio::awaitable<Opened> Open(OpenOptions options) override {
    co_return Wrapped(co_await engine_->Open(std::move(options)));
  }
  asio::awaitable<Opened> Restore(OpenOptions options, SavedCell saved, Limits limits) override {
    Opened cell = Error(ErrorCode::kInternal, "");
    {
      const Hunt hunt("restore:during");
      cell = co_await engine_->Restore(std::move(options), std::move(saved), limits);
    }
    PassStep("restore:after");
    co_return Wrapped(std::move(cell));
  }
  EngineStats stats() const override { return engine_->stats(); }
  std::optional<CellBuild> build() const override { return engine_->build(); }

 private:
  static Opened Wrapped(Opened cell) {
    if (!cell) return cell;
    return std::unique_ptr<Cell>(std::make_unique<KillingCell>(*std::move(cell)));
  }

  const std::unique_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Engine> MakeKillingEngine(std::unique_ptr<Engine> engine) {
  return std::make_unique<KillingEngine>(std::move(engine));
}

}  // namespace caisson::testing
