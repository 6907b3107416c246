// Resumes a run that no process holds: claims it, reads it from the store, and decides whether it
// can continue.
//
// Trust     Data in the store may have been changed by others. A sleeping run is used only if it
//           can be opened with the keys; other data never reaches a worker.
// Threads   Any.
// Lifetime  The resources outlive it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "runs/live_run.h"
#include "runs/run_resources.h"

namespace caisson {

// Returns the setting of that name for that caller; null: there is none.
using SettingByName = std::function<std::shared_ptr<const CodeSetting>(
    const std::string& name, const CallerContext* session)>;

struct TakenRun {
  LiveRunStart start;
  std::optional<Outcome> end{};  // Set if the run must end: it was cancelled, or cannot continue.
};

// Fails with kFailedPrecondition if another replica holds the run or it has ended, kNotFound if
// there is no such run.
asio::awaitable<Result<TakenRun>> TakeUp(const RunResources& resources, SettingByName settings,
                                         IsolationKey owner, RunId id);

// Reads a run again that this process holds and that has lost its cell. Fills in `start`. Returns
// the reason why it cannot continue; nullopt: it can.
asio::awaitable<Result<std::optional<std::string>>> ReadAgain(const RunResources& resources,
                                                              LiveRunStart& start);

// Opens a sleeping run; nullopt: it cannot be read here.
std::optional<SleepRecord> OpenSleep(const RunResources& resources, const IsolationKey& owner,
                                     const RunId& id, const SavedRun& saved);

Outcome FailedOutcome(RunReason reason, std::string why);
// Returns what is stored of a run that ends like this. Encodes large outcomes in the pool.
// `outcome` must live until this has returned.
asio::awaitable<std::shared_ptr<const RunEnd>> Encode(const RunResources& resources,
                                                      const Outcome& outcome);
// Ends a run that cannot continue.
asio::awaitable<Result<void>> EndTaken(const RunResources& resources, LiveRunStart start,
                                       Outcome outcome);

}  // namespace caisson
