// How a cell comes into the world, wherever it is forked, and what is said of it when it has left.
//
// Trust     As Cell: what is forked is trusted until it has confined itself.
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
#include "engine/native/nursery/cell.h"
#include "engine/native/nursery/control.h"
#include "jail/enclosure.h"
#include "wire/nursery.h"

namespace caisson::nursery {

using Fork = std::function<Result<jail::Enclosure::Forked>()>;

// The host is told of it, then it may go on. Nothing: it was not born, and the host knows why.
Result<std::optional<pid_t>> GiveBirth(const Inheritance& inheritance, const CellRequest& request,
                                       const Fork& fork);

// Whoever is forked later has a copy of this process's stack: what is known of one cell does not stay there.
template <typename T>
struct Wiped {
  T value{};
  ~Wiped() { ::explicit_bzero(&value, sizeof value); }
};

// `status`: as wait4() tells it.
wire::CellGone Obituary(std::uint64_t cell, int status, const rusage& usage);

}  // namespace caisson::nursery
