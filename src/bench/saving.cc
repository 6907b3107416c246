#include "bench/saving.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "bench/lane_work.h"
#include "bench/parked_run.h"
#include "engine/seal.h"

namespace caisson::bench {
namespace {

// The first restore starts the owner's own worker.
constexpr int kWarmUpCells = 5;
constexpr std::int64_t kAnswer = 41;

SealBinding BindingOf(const WasmEngine& engine, const OwnerId& owner, std::uint32_t seq) {
  const WorkerBuild build = *engine.build();
  SealBinding binding{.owner = owner, .run = "run_bench", .call_seq = seq};
  std::ranges::copy(build.build_id, binding.build_id.begin());
  std::ranges::copy(build.base_hash, binding.base_hash.begin());
  return binding;
}

asio::awaitable<Result<void>> Finish(Cell& cell, std::uint32_t seq) {
  if (auto answered = cell.Answer(seq, Value(kAnswer)); !answered) {
    co_return std::move(answered).error();
  }
  EchoEvents events;
  events.cell = &cell;
  auto outcome = co_await cell.Continue(events, AfterRun::kDiscard);
  if (!outcome) co_return std::move(outcome).error();
  co_return ExpectResult(*outcome, Value(kAnswer + 1));
}

// Saves and restores one cell.
asio::awaitable<Result<void>> Once(WasmEngine& engine, const SealKey& key, Saving& saving) {
  const OwnerId owner("bench");
  auto run = co_await ParkedRun::Start(engine, owner, "1 + ask()");
  if (!run) co_return std::move(run).error();
  const SealBinding binding = BindingOf(engine, owner, run->seq());

  const auto save_begin = Clock::now();
  auto saved = co_await run->cell().Save(AfterSave::kDiscard);
  if (!saved) co_return std::move(saved).error();
  auto sealed = Seal(key, binding, *saved);
  const auto save_took = Clock::now() - save_begin;
  if (!sealed) co_return std::move(sealed).error();

  const auto restore_begin = Clock::now();
  auto unsealed = Unseal(key, binding, *sealed);
  if (!unsealed) co_return std::move(unsealed).error();
  auto cell = co_await engine.Restore({.owner = owner}, *std::move(unsealed), Limits());
  const auto restore_took = Clock::now() - restore_begin;
  if (!cell) co_return std::move(cell).error();

  saving.save_us.push_back(Microseconds(save_took));
  saving.restore_us.push_back(Microseconds(restore_took));
  saving.blob_bytes.push_back(static_cast<double>(sealed->size()));
  co_return co_await Finish(**cell, binding.call_seq);
}

asio::awaitable<Result<Saving>> Many(WasmEngine& engine, int cells) {
  const SealKey key = SealKey::Random();
  Saving saving;
  for (int i = -kWarmUpCells; i < cells; ++i) {
    if (i == 0) saving = {};
    if (auto done = co_await Once(engine, key, saving); !done) co_return std::move(done).error();
  }
  co_return saving;
}

}  // namespace

Result<Saving> SaveAndRestore(WasmEngine& engine, int cells) {
  return OnLane(engine, 0, Many(engine, cells));
}

}  // namespace caisson::bench
