#include "engine/wasm/wasm_engine.h"

#include <sched.h>

#include <algorithm>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "engine/wasm/wasm_cell.h"

namespace caisson {
namespace {

using PlaceHandler = asio::any_completion_handler<void(Result<Admission::Place>)>;

std::vector<int> UsableCores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

// One request in the waiting line. Lives on its home lane; shared by the timer, the line's callback
// and the canceller, whichever comes first.
class LineEntry : public std::enable_shared_from_this<LineEntry> {
 public:
  LineEntry(Lane& home, PlaceHandler handler)
      : home_(home), timer_(home.context()), handler_(std::move(handler)) {}

  void Join(const OwnerId& owner, std::chrono::nanoseconds wait) {
    auto ticket = home_.shared().admission.Join(
        owner, [self = shared_from_this()](Result<Admission::Place> place) {
          asio::post(self->home_.context(), [self, place = std::move(place)]() mutable {
            self->Finish(std::move(place));
          });
        });
    if (!ticket) return Finish(std::move(ticket).error());
    ticket_ = *ticket;
    timer_.expires_after(wait);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->Leave(ErrorCode::kDeadlineExceeded, "no cell became free in time");
    });
  }

  void Leave(ErrorCode code, const char* why) {
    // If it is no longer in the line, its place is on the way and is taken.
    if (handler_ && home_.shared().admission.Leave(ticket_)) Finish(Error(code, why));
  }

  Lane& home() { return home_; }

 private:
  void Finish(Result<Admission::Place> place) {
    timer_.cancel();
    auto executor = asio::get_associated_executor(handler_, home_.executor());
    asio::dispatch(executor, [handler = std::move(handler_), place = std::move(place)]() mutable {
      asio::get_associated_cancellation_slot(handler).clear();
      std::move(handler)(std::move(place));
    });
    handler_ = nullptr;
  }

  Lane& home_;
  asio::steady_timer timer_;
  PlaceHandler handler_;
  Admission::Ticket ticket_ = 0;
};

}  // namespace

Result<std::unique_ptr<WasmEngine>> WasmEngine::Create(WasmEngineOptions options) {
  JailLauncherOptions launcher{.worker_path = options.worker_path,
                               .base_path = options.base_path,
                               .tier = options.tier,
                               .arguments = {}};
  if (options.verify_reset) launcher.arguments.emplace_back("--verify-reset");
  TRY_ASSIGN(auto made, MakeJailLauncher(std::move(launcher)));
  return Create(std::move(options), std::move(made));
}

Result<std::unique_ptr<WasmEngine>> WasmEngine::Create(WasmEngineOptions options,
                                                       std::unique_ptr<Launcher> launcher) {
  const std::vector<int> cores = UsableCores();
  const std::size_t lanes =
      options.lanes != 0 ? options.lanes : std::max<std::size_t>(1, cores.size());
  auto shared = std::make_unique<EngineShared>(
      Admission::Options{.lanes = lanes,
                         .cells_per_lane = options.cells_per_lane,
                         .cells = lanes * options.cells_per_lane,
                         .max_waiting = options.max_waiting,
                         .max_waiting_per_owner = options.max_waiting_per_owner},
      options.ceiling, std::move(launcher));
  shared->max_saved_bytes = options.max_saved_bytes;
  std::unique_ptr<WasmEngine> engine(new WasmEngine(std::move(shared)));
  for (std::size_t i = 0; i < lanes; ++i) {
    const bool pin = options.pin && !cores.empty();
    engine->lanes_.push_back(std::make_unique<Lane>(
        Lane::Options{.index = i,
                      .cpu = pin ? std::optional(cores[i % cores.size()]) : std::nullopt,
                      .cores = pin ? cores : std::vector<int>(),
                      .tier = std::string(jail::ToString(options.tier)),
                      .max_owner_workers = options.max_owner_workers,
                      .owner_worker_idle = options.owner_worker_idle},
        *engine->shared_));
  }
  for (const auto& lane : engine->lanes_) TRY(lane->AwaitFirstWorker());
  return engine;
}

WasmEngine::~WasmEngine() {
  shared_->admission.Close();
}

Lane* WasmEngine::CurrentLane() const {
  Lane* lane = Lane::Current();
  return lane != nullptr && &lane->shared() == shared_.get() ? lane : nullptr;
}

asio::awaitable<Result<Admission::Place>> WasmEngine::Wait(OpenOptions options) {
  Lane* current = CurrentLane();
  return asio::async_initiate<const asio::use_awaitable_t<>, void(Result<Admission::Place>)>(
      [](auto handler, Lane* home, OpenOptions opts) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        auto entry = std::make_shared<LineEntry>(*home, PlaceHandler(std::move(handler)));
        if (slot.is_connected()) {
          slot.assign([weak = std::weak_ptr(entry), home](asio::cancellation_type) {
            asio::dispatch(home->context(), [weak] {
              if (auto line = weak.lock()) line->Leave(ErrorCode::kCancelled, "cancelled");
            });
          });
        }
        asio::post(home->context(),
                   [entry, opts = std::move(opts)] { entry->Join(opts.owner, opts.wait); });
      },
      asio::use_awaitable, current != nullptr ? current : lanes_.front().get(), std::move(options));
}

asio::awaitable<Result<std::unique_ptr<Cell>>> WasmEngine::Open(OpenOptions options) {
  const Lane* current = CurrentLane();
  auto place = shared_->admission.TryTake(current != nullptr ? std::optional(current->index())
                                                             : std::nullopt);
  if (!place) co_return std::move(place).error();
  if (place->has_value()) {
    Lane& lane = *lanes_[(*place)->lane()];
    co_return std::unique_ptr<Cell>(std::make_unique<WasmCell>(
        lane, std::move(options.owner), **std::move(place), std::chrono::nanoseconds(0)));
  }
  const SteadyTime since = std::chrono::steady_clock::now();
  auto waited = co_await Wait(options);
  if (!waited) co_return std::move(waited).error();
  Lane& lane = *lanes_[waited->lane()];
  co_return std::unique_ptr<Cell>(
      std::make_unique<WasmCell>(lane, std::move(options.owner), *std::move(waited),
                                 std::chrono::steady_clock::now() - since));
}

asio::awaitable<Result<std::unique_ptr<Cell>>> WasmEngine::Restore(OpenOptions options,
                                                                   SavedCell saved, Limits limits) {
  if (auto good = CheckLimits(limits, shared_->ceiling); !good) co_return std::move(good).error();
  auto cell = co_await Open(std::move(options));
  if (!cell) co_return std::move(cell).error();
  auto restored =
      co_await static_cast<WasmCell&>(**cell).Restore(std::move(saved), std::move(limits));
  if (!restored) co_return std::move(restored).error();
  co_return std::move(cell);
}

EngineStats WasmEngine::stats() const {
  return {.runs_started = shared_->runs_started.load(std::memory_order_relaxed),
          .runs_ended = shared_->runs_ended.load(std::memory_order_relaxed),
          .workers_started = shared_->workers_started.load(std::memory_order_relaxed),
          .workers_lost = shared_->workers_lost.load(std::memory_order_relaxed),
          .cells_live = shared_->admission.live(),
          .waiting = shared_->admission.waiting(),
          .refused = shared_->admission.refused()};
}

WorkerBuild WasmEngine::build() const {
  return shared_->build.Lock()->value_or(WorkerBuild{});
}

}  // namespace caisson
