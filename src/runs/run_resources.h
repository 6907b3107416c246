// The resources that all runs of a service share, and their settings.
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
  // The longest time that a run waits in memory. Then it sleeps in the store.
  std::chrono::nanoseconds keep_parked = std::chrono::seconds(60);
  // Limits of the runs that wait in memory and could sleep in the store: their number and the
  // memory that they changed. Above them, or if a run waits for a cell, the oldest sleep.
  std::size_t max_parked = 256;
  std::uint64_t max_parked_bytes = std::uint64_t{256} << 20;
  // Runs of one owner that may wait for a cell, besides those that have one. Others are refused.
  std::size_t max_queued = 100;
  // How much longer than its wall limit a run may stay in memory while it waits for a decision, at
  // least. A run may always stay as long as the ceiling of its setting allows.
  std::chrono::nanoseconds min_patience{};
  // False: nobody looks at a run that has ended, so its outcome is not stored.
  bool keeps_ended = true;
  // Bytes that the calls of one run may take in the store. More ends the run.
  std::uint64_t max_journal_bytes = kMaxJournalBytes;
  // Bytes that the runs of one owner may take in the store until they are swept. Above it new runs
  // are refused.
  std::uint64_t max_stored_bytes = std::uint64_t{4} << 30;
  // A run that is resumed more often than this without progress ends as crashed.
  std::uint32_t max_attempts = 5;
  // The pace at which a failed store operation is repeated.
  StorePatience::Pace pace{};
  // A replica that does not renew its lease for this long loses its runs. Renewed three times as
  // often.
  std::chrono::milliseconds lease{5000};
  std::chrono::milliseconds poll{250};  // Interval of looking into the store for what others did.
};

struct RunResources {
  Engine& engine;
  CodeRunner& runner;
  Store& store;
  ApprovalDesk& desk;
  const KeyRing& keys;
  const Clock& clock;
  const RunSettings settings;
  const std::string holder;  // The name of this process in leases.
  TotalUsage& total;
  StorePatience& patience;
  CallerHost* const caller_host = nullptr;  // For runs with a caller that are resumed here.
};

}  // namespace caisson
