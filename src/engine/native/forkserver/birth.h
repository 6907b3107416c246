// Creates a cell, wherever it is forked, and describes its end.
//
// Trust     As Cell: a forked process is trusted until it has confined itself.
// Threads   Single-threaded processes only.
// Lifetime  Functions.
#pragma once

#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "engine/native/forkserver/control.h"
#include "engine/native/forkserver/forked_cell.h"
#include "jail/enclosure.h"
#include "wire/fork_server_messages.h"

namespace caisson::forkserver {

using Fork = std::function<Result<jail::Enclosure::Forked>()>;

// Tells the host about the cell, then lets it continue. nullopt: it was not made, and the host
// knows why.
Result<std::optional<pid_t>> GiveBirth(const Inheritance& inheritance, const CellRequest& request,
                                       const Fork& fork);

// Processes forked later have a copy of this process's stack, so data about one cell must not stay
// there.
template <typename T>
struct Wiped {
  T value{};
  ~Wiped() { ::explicit_bzero(&value, sizeof value); }
};

// `status`: as wait4() returns it.
wire::CellGone Obituary(std::uint64_t cell, int status, const rusage& usage);

}  // namespace caisson::forkserver
