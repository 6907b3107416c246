// The Nursery: a warm interpreter that cells are forked from when the host asks, and whose dead ones
// it reaps.
//
// Trust     Never runs hostile code and reads nothing that a cell wrote.
// Threads   One.
// Lifetime  Until the host closes the control socket. In tier namespace the kernel then ends every cell,
//           since this process is the first of their pid namespace; elsewhere their death signal does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/result.h"
#include "engine/native/nursery/berths.h"
#include "engine/native/nursery/cell.h"
#include "engine/native/nursery/control.h"
#include "engine/native/nursery/library.h"
#include "engine/native/nursery/runner.h"
#include "jail/enclosure.h"

namespace caisson::nursery {

class Nursery {
 public:
  // With a `runner`, cells start its interpreter; else this process has one, and they go on with that. `scratch`: a
  // directory for the files of cells; not open: they have a mount namespace, or no files.
  Nursery(jail::Enclosure enclosure, Control control, std::vector<jail::PathRule> rules,
          std::optional<Runner> runner, UniqueFd scratch)
      : enclosure_(std::move(enclosure)),
        control_(std::move(control)),
        rules_(std::move(rules)),
        runner_(std::move(runner)),
        scratch_(std::move(scratch)) {}

  // Opens what it needs, gives up everything else and tells the host.
  Result<void> Prepare();
  // Serves until the host is gone.
  Result<void> Run();

 private:
  Result<void> TakeStem();
  Result<void> Make(const CellRequest& request);
  Result<const jail::Filter*> FilterFor(const wire::MakeCell& request) const;
  Result<void> Reap();

  jail::Enclosure enclosure_;
  const Control control_;
  const std::vector<jail::PathRule> rules_;
  const std::optional<Runner> runner_;
  const UniqueFd scratch_;
  std::optional<jail::Filter>
      questions_;  // What cells ask about, if they have a scratch directory.
  // What cells of one process load last, and those of several.
  std::optional<jail::Filter> single_;
  std::optional<jail::Filter> several_;
  std::optional<Stem> stem_;                        // Of cells that can be copied.
  std::uint64_t address_space_bytes_ = 0;           // As in Inheritance.
  UniqueFd deaths_;                                 // Readable when a child has ended.
  std::unordered_map<pid_t, std::uint64_t> cells_;  // Those that were made alone.
  bool wants_berths_ = false;                       // From the second cell on.
  Berths berths_;
};

}  // namespace caisson::nursery
