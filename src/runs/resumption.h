// Resumption is how a run that nobody holds is taken up again: claimed, read, and told whether it can go on.
//
// Trust     What the store gives back may have been changed by others: a sleeping run is used only if it opens;
//           what does not is never shown to a worker.
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

// The setting of that name, for that session; null if there is none here.
using SettingByName = std::function<std::shared_ptr<const CodeSetting>(
    const std::string& name, const CallerContext* session)>;

struct TakenRun {
  LiveRunStart start;
  std::optional<Outcome>
      end{};  // It is to be ended like this: somebody asked for that, or it cannot go on.
};

// kFailedPrecondition: another holds it, or it has ended. kNotFound: there is none.
asio::awaitable<Result<TakenRun>> TakeUp(const RunResources& resources, SettingByName settings,
                                         IsolationKey owner, RunId id);

// The same of a run that is held already and has lost its cell: `start` is what the store has of it now. Tells why it
// cannot go on; nothing: it can.
asio::awaitable<Result<std::optional<std::string>>> ReadAgain(const RunResources& resources,
                                                              LiveRunStart& start);

// What a sleeping run had said so far; nothing if that cannot be read here.
std::optional<SleepRecord> OpenSleep(const RunResources& resources, const IsolationKey& owner,
                                     const RunId& id, const SavedRun& saved);

Outcome FailedOutcome(RunReason reason, std::string why);
// Returns what is stored of a run that ends like this. Encodes large outcomes in the pool.
// `outcome` must live until this has returned.
asio::awaitable<std::shared_ptr<const RunEnd>> Encode(const RunResources& resources,
                                                      const Outcome& outcome);
// How a run that cannot go on ends.
asio::awaitable<Result<void>> EndTaken(const RunResources& resources, LiveRunStart start,
                                       Outcome outcome);

}  // namespace caisson
