#include "engine/auto/auto_engine.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "base/run_on.h"
#include "engine/auto/auto_cell.h"

namespace caisson {
namespace {

// After a failed start there is no new attempt for this long.
constexpr std::chrono::seconds kStartAgain{5};

}  // namespace

AutoEngine::AutoEngine(std::unique_ptr<Engine> wasm, AutoEngineOptions options)
    : options_(std::move(options)), wasm_(std::move(wasm)) {}

AutoEngine::~AutoEngine() {
  if (auto& starter = *starter_.Lock()) starter->join();
}

asio::awaitable<Result<std::unique_ptr<Cell>>> AutoEngine::Open(OpenOptions options) {
  const OpenOptions first{
      .owner = options.owner, .wait = options.wait, .host_files = options.host_files};
  auto cell = co_await wasm_->Open(first);
  if (!cell) co_return std::move(cell).error();
  co_return std::unique_ptr<Cell>(std::make_unique<AutoCell>(
      *this, std::move(options), *std::move(cell), AutoCell::State::kFresh));
}

asio::awaitable<Result<std::unique_ptr<Cell>>> AutoEngine::Restore(OpenOptions options,
                                                                   SavedCell saved, Limits limits) {
  if (saved.origin) co_return co_await RestoreNative(std::move(options), std::move(saved), limits);
  auto cell = co_await wasm_->Restore(options, std::move(saved), limits);
  if (!cell) co_return std::move(cell).error();
  co_return std::unique_ptr<Cell>(std::make_unique<AutoCell>(
      *this, std::move(options), *std::move(cell), AutoCell::State::kUsed));
}

asio::awaitable<Result<std::unique_ptr<Cell>>> AutoEngine::RestoreNative(OpenOptions options,
                                                                         SavedCell saved,
                                                                         Limits limits) {
  auto engine = co_await NativeEngineStarted();
  if (!engine) co_return std::move(engine).error().Context("start engine native");
  auto cell = co_await (*engine)->Restore(options, std::move(saved), limits);
  if (!cell) co_return std::move(cell).error();
  co_return std::unique_ptr<Cell>(std::make_unique<AutoCell>(
      *this, std::move(options), *std::move(cell), AutoCell::State::kNative));
}

// Runs on the starter's thread, so there is only one at a time.
Result<Engine*> AutoEngine::StartNative() {
  {
    auto native = native_.Lock();
    if (native->engine) return native->engine.get();
    if (native->failure && std::chrono::steady_clock::now() - native->failed_at < kStartAgain) {
      return *native->failure;
    }
  }
  auto made = options_.start_native();
  auto native = native_.Lock();
  if (made) {
    native->engine = *std::move(made);
    return native->engine.get();
  }
  native->failure = std::move(made).error();
  native->failed_at = std::chrono::steady_clock::now();
  return *native->failure;
}

asio::awaitable<Result<Engine*>> AutoEngine::NativeEngineStarted() {
  if (auto native = native_.Lock(); native->engine) co_return native->engine.get();
  co_return co_await CallOn(Starter(), [this] { return StartNative(); });
}

asio::any_io_executor AutoEngine::Starter() {
  auto pool = starter_.Lock();
  if (!*pool) *pool = std::make_unique<asio::thread_pool>(1);
  return (*pool)->get_executor();
}

void AutoEngine::Warm() {
  // A failure is reported when code needs the engine.
  asio::post(Starter(), [this] { static_cast<void>(StartNative()); });
}

asio::awaitable<Result<std::unique_ptr<Cell>>> AutoEngine::OpenNative(
    OpenOptions options, const std::vector<std::string>& modules) {
  if (on_packages_) asio::post(Starter(), [this, modules] { on_packages_(modules); });
  auto engine = co_await NativeEngineStarted();
  if (!engine) co_return std::move(engine).error().Context("start engine native");
  co_return co_await (*engine)->Open(std::move(options));
}

asio::awaitable<Result<std::shared_ptr<PreparedCell>>> AutoEngine::Prepare(
    Preparation preparation) {
  auto engine = co_await NativeEngineStarted();
  if (!engine) co_return std::move(engine).error().Context("start engine native");
  co_return co_await (*engine)->Prepare(std::move(preparation));
}

EngineStats AutoEngine::stats() const {
  EngineStats sum = wasm_->stats();
  auto native = native_.Lock();
  if (native->engine) sum += native->engine->stats();
  return sum;
}

}  // namespace caisson
