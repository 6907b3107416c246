// What all runs of a service share.
//
// Trust     Ours.
// Threads   Any.
// Lifetime  Outlives the runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "approval/desk.h"
#include "approval/key_ring.h"
#include "base/clock.h"
#include "caller/caller_context.h"
#include "engine/engine.h"
#include "runs/cells/code_runner.h"
#include "runs/journal/run_journal.h"
#include "store/patience.h"
#include "store/store.h"

namespace caisson {

struct RunSettings {
  WaitingLimits waiting{};
  // How long, in all, a run may wait in memory; then it sleeps in the store.
  std::chrono::nanoseconds keep_parked = std::chrono::seconds(60);
  // Runs that wait in memory, and what they changed there, as far as they could sleep. More than that, or somebody waits
  // for a cell, and the oldest sleep.
  std::size_t max_parked = 256;
  std::uint64_t max_parked_bytes = std::uint64_t{256} << 20;
  // Runs of one owner that wait for a cell, beyond as many as the owner may hold cells. Further ones are refused.
  std::size_t max_queued = 100;
  // How much longer than its wall limit a run may stay in memory while it waits for a decision, at
  // least. A run may always stay as long as the ceiling of its setting allows.
  std::chrono::nanoseconds min_patience{};
  // False: nobody looks at a run that has ended, so its outcome is not stored.
  bool keeps_ended = true;
  // What one run's calls may take in the store; more ends the run.
  std::uint64_t max_journal_bytes = kMaxJournalBytes;
  // What the runs of one owner may take in the store, until they are swept. Beyond it new ones are refused.
  std::uint64_t max_stored_bytes = std::uint64_t{4} << 30;
  // How often a run is taken up without getting anywhere, until it is the run's fault.
  std::uint32_t max_attempts = 5;
  // How a run that the store cannot take waits for it.
  StorePatience::Pace pace{};
  // How long a run stays with a replica that does not answer. Renewed three times as often.
  std::chrono::milliseconds lease{5000};
  std::chrono::milliseconds poll{250};  // How often the store is asked what others did.
};

struct RunResources {
  Engine& engine;
  CodeRunner& runner;
  Store& store;
  ApprovalDesk& desk;
  const KeyRing& keys;
  const Clock& clock;
  const RunSettings settings;
  const std::string holder;  // This process, in leases.
  TotalUsage& total;
  StorePatience& patience;
  CallerHost* const sessions = nullptr;  // For runs that act for somebody and are taken up here.
};

}  // namespace caisson
