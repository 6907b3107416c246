// What all runs of a service share.
//
// Trust     Ours.
// Threads   Any.
// Lifetime  Outlives the runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "approval/desk.h"
#include "approval/key_ring.h"
#include "base/clock.h"
#include "codeact/code_runner.h"
#include "context/session_context.h"
#include "engine/engine.h"
#include "journal/run_journal.h"
#include "store/store.h"

namespace caisson {

struct DurableSettings {
  WaitingLimits waiting{};
  // How long, in all, a run may wait in memory; then it sleeps in the store.
  std::chrono::nanoseconds keep_parked = std::chrono::seconds(60);
  std::size_t max_parked = 256;  // Runs that wait in memory; more of them, and the oldest sleep.
  std::chrono::seconds lease{15};
  std::chrono::milliseconds poll{250};  // How often the store is asked what others did.
  // How long finished runs are remembered, with their files. Those that have not finished are never forgotten.
  std::chrono::seconds keep_finished = Retention().finished_runs;
};

struct Surroundings {
  Engine& engine;
  CodeRunner& runner;
  Store& store;
  ApprovalDesk& desk;
  const KeyRing& keys;
  const Clock& clock;
  const DurableSettings settings;
  const std::string holder;               // This process, in leases.
  SessionHost* const sessions = nullptr;  // For runs that act for somebody and are taken up here.
};

}  // namespace caisson
