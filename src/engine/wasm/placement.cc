#include "engine/wasm/placement.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace caisson {
namespace {

// A lane is busy if the average time between turns is below this, which is well within the time for
// which either side polls the ring before it sleeps.
constexpr std::chrono::microseconds kCloseTurns{80};
// This many turns in a row make it busy; OnTick makes it calm again.
constexpr std::uint32_t kBurst = 64;

}  // namespace

Placement::Placement(std::optional<int> own, std::vector<int> cores, std::atomic<std::size_t>& busy)
    : own_(own), cores_(std::move(cores)), busy_lanes_(busy) {}

Placement::~Placement() {
  SetBusy(false);
}

void Placement::OnTurn() {
  ++tick_turns_;
  if (burst_turns_ == 0) burst_began_ = std::chrono::steady_clock::now();
  if (++burst_turns_ < kBurst) return;
  burst_turns_ = 0;
  if (std::chrono::steady_clock::now() - burst_began_ > kBurst * kCloseTurns) return;
  SetBusy(true);
  Choose();
}

void Placement::OnTick(std::chrono::nanoseconds interval) {
  if (std::exchange(tick_turns_, 0) * kCloseTurns < interval) SetBusy(false);
  Choose();
}

void Placement::SetBusy(bool busy) {
  if (std::exchange(busy_, busy) == busy) return;
  busy ? ++busy_lanes_ : --busy_lanes_;
}

void Placement::Choose() {
  if (!own_) return;
  const bool apart = busy_ && 2 * busy_lanes_.load() <= cores_.size();
  if (apart != apart_) MoveTo(apart);
}

void Placement::MoveTo(bool apart) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int core : cores_) {
    if ((core != *own_) == apart) CPU_SET(static_cast<std::size_t>(core), &cpus);
  }
  // If this fails, the lane is slower but not less isolated.
  apart_ = ::sched_setaffinity(0, sizeof cpus, &cpus) == 0 && apart;
}

}  // namespace caisson
