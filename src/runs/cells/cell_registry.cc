#include "runs/cells/cell_registry.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "base/spawn.h"

namespace caisson {
namespace {

// Configurations that are remembered without a cell, so that one that comes again is known.
constexpr std::size_t kMostRemembered = 64;

}  // namespace

// Cells that are let go end after the lock is released: that calls others.

CellRegistry::Entries::iterator CellRegistry::Find(State& state, const CellKey& key) const {
  const auto found = std::ranges::find(state.entries, key, &Entry::key);
  if (found == state.entries.end()) return found;
  state.entries.splice(state.entries.begin(), state.entries, found);
  found->last_used = options_.now();
  return found;
}

// The engine has ended those cells, or is about to.
void CellRegistry::LetGoIdle(State& state, Cells& gone) const {
  const Time now = options_.now();
  std::erase_if(state.entries, [&](Entry& entry) {
    std::erase_if(entry.waiting, [&](Waiting& waiting) {
      const bool is_idle = now - waiting.since >= options_.idle;
      if (is_idle) gone.push_back(std::move(waiting.cell));
      return is_idle;
    });
    return entry.cells() == 0 && now - entry.last_used >= options_.idle;
  });
}

// Those that were not used for longest make room for `entry`, if they are of another configuration:
// of the same owner where that has its share already.
bool CellRegistry::MakeRoom(State& state, const Entry& entry, Cells& gone) const {
  std::size_t own = 0;
  std::size_t all = 0;
  for (const Entry& each : state.entries) {
    all += each.cells();
    if (each.key.owner == entry.key.owner) own += each.cells();
  }
  const bool owner_full = own >= options_.most_per_owner;
  if (!owner_full && all < options_.most) return true;
  for (Entry& each : std::views::reverse(state.entries)) {
    const bool may_go = &each != &entry && (!owner_full || each.key.owner == entry.key.owner);
    if (!may_go || each.waiting.empty()) continue;
    gone.push_back(std::move(each.waiting.front().cell));
    each.waiting.erase(each.waiting.begin());
    return true;
  }
  return false;
}

void CellRegistry::Forget(State& state, Cells& gone) const {
  if (state.entries.size() <= kMostRemembered) return;
  const auto last = std::ranges::find(state.entries.rbegin(), state.entries.rend(), std::size_t{0},
                                      &Entry::making);
  if (last == state.entries.rend()) return;  // These are few: they count as cells.
  for (Waiting& waiting : last->waiting) gone.push_back(std::move(waiting.cell));
  state.entries.erase(std::next(last).base());
}

bool CellRegistry::empty() {
  return state_.Lock()->entries.empty();
}

std::size_t CellRegistry::waiting() {
  std::size_t waiting = 0;
  auto state = state_.Lock();
  for (const Entry& entry : state->entries) waiting += entry.waiting.size();
  return waiting;
}

std::shared_ptr<PreparedCell> CellRegistry::Take(const CellKey& key) {
  Cells gone;
  auto state = state_.Lock();
  LetGoIdle(*state, gone);
  const auto found = Find(*state, key);
  if (found == state->entries.end() || found->waiting.empty()) return nullptr;
  std::shared_ptr<PreparedCell> cell = std::move(found->waiting.back().cell);
  found->waiting.pop_back();
  return cell;
}

void CellRegistry::Foresee(CellKey key, Preparation preparation,
                           const asio::any_io_executor& executor) {
  auto pass = gate_.Enter();
  if (!pass || options_.most == 0) return;
  if (engine_.stats().waiting > 0) return;  // Its time belongs to those.
  Cells gone;
  {
    auto state = state_.Lock();
    if (state->closed) return;
    LetGoIdle(*state, gone);
    const auto found = Find(*state, key);
    if (found == state->entries.end()) {
      // Who comes once may never come again.
      state->entries.push_front({.key = std::move(key), .last_used = options_.now()});
      return Forget(*state, gone);
    }
    if (!MakeRoom(*state, *found, gone)) return;
    ++found->making;
  }
  preparation.keep = options_.idle;
  preparation.witness = std::make_shared<ShutdownGate::Pass>(*std::move(pass));
  Spawn(executor, Make(std::move(key), std::move(preparation)));
}

asio::awaitable<void> CellRegistry::Make(CellKey key, Preparation preparation) {
  const std::shared_ptr<void> pass = preparation.witness;  // Close() waits for us, too.
  auto made = co_await engine_.Prepare(std::move(preparation));
  // Where none can be made, the next run makes its own, and says why it cannot.
  Keep(key, made ? *std::move(made) : nullptr);
}

void CellRegistry::Keep(const CellKey& key, std::shared_ptr<PreparedCell> cell) {
  auto state = state_.Lock();
  const auto found = std::ranges::find(state->entries, key, &Entry::key);
  if (found == state->entries.end()) return;  // Closed.
  --found->making;
  if (cell) found->waiting.push_back({.cell = std::move(cell), .since = options_.now()});
}

void CellRegistry::Shut() {
  gate_.Shut();
  Entries gone;
  auto state = state_.Lock();
  state->closed = true;
  gone.swap(state->entries);
}

asio::awaitable<void> CellRegistry::Close() {
  Shut();
  co_await gate_.Close();
}

}  // namespace caisson
