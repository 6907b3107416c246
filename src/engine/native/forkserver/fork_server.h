// The ForkServer is the fork server itself: a warm interpreter from which cells are forked when the
// host asks, and which reaps dead cells.
//
// Trust     Never runs hostile code and reads nothing that a cell wrote.
// Threads   One.
// Lifetime  Until the host closes the control socket. In tier namespace the kernel then kills every
//           cell, because this process is the first of their pid namespace. In other tiers their
//           parent-death signal does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/result.h"
#include "engine/native/forkserver/control.h"
#include "engine/native/forkserver/forked_cell.h"
#include "engine/native/forkserver/library.h"
#include "engine/native/forkserver/runner.h"
#include "engine/native/forkserver/slots.h"
#include "jail/enclosure.h"

namespace caisson::forkserver {

class ForkServer {
 public:
  // With a `runner`, cells start its interpreter. Otherwise they use the one in this process.
  // `scratch`: a directory for the files of cells; not open: they have a mount namespace, or no
  // files.
  ForkServer(jail::Enclosure enclosure, Control control, std::vector<jail::PathRule> rules,
             std::optional<Runner> runner, UniqueFd scratch)
      : enclosure_(std::move(enclosure)),
        control_(std::move(control)),
        rules_(std::move(rules)),
        runner_(std::move(runner)),
        scratch_(std::move(scratch)) {}

  // Opens what it needs, drops everything else and tells the host that it is ready.
  Result<void> Prepare();
  // Serves until the host is gone.
  Result<void> Run();

 private:
  Result<void> TakeBaseline();
  Result<void> Make(const CellRequest& request);
  Result<const jail::Filter*> FilterFor(const wire::MakeCell& request) const;
  Result<void> Reap();

  jail::Enclosure enclosure_;
  const Control control_;
  const std::vector<jail::PathRule> rules_;
  const std::optional<Runner> runner_;
  std::optional<ForeignJudge> judge_;  // If there is a runner.
  const UniqueFd scratch_;
  std::optional<jail::Filter> questions_;  // The calls that cells must ask for.
  // The last filters of cells with one process, and with several.
  std::optional<jail::Filter> single_;
  std::optional<jail::Filter> several_;
  std::optional<Baseline> baseline_;                // Set if cells can be copied.
  std::uint64_t address_space_bytes_ = 0;           // As in Inheritance.
  UniqueFd deaths_;                                 // Readable when a child has ended.
  std::unordered_map<pid_t, std::uint64_t> cells_;  // Cells that were made alone.
  bool wants_slots_ = false;                        // Set from the second cell on.
  Slots slots_;
};

}  // namespace caisson::forkserver
