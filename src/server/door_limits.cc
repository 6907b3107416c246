#include "server/door_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace caisson {
namespace {

// Open files of the engines, the store and tools.
constexpr std::size_t kOtherFiles = 1024;

// Returns the number of files that may be open.
std::size_t RaiseOpenFiles(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  return limit.rlim_cur;
}

}  // namespace

Result<net::ConnectionLimits> DoorLimits(const Config& config) {
  net::ConnectionLimits limits;
  limits.connections = config.server.max_connections.value_or(limits.connections);
  limits.per_peer = config.server.max_connections_per_peer.value_or(limits.per_peer);
  const std::size_t others = limits.reserved + kOtherFiles;
  const std::size_t files = RaiseOpenFiles(limits.connections + others);
  if (files < limits.connections + others) {
    if (config.server.max_connections) {
      return Error(ErrorCode::kInvalidArgument,
                   "server.max_connections = " + std::to_string(limits.connections) + " needs " +
                       std::to_string(limits.connections + others) +
                       " open files, but this process may open " + std::to_string(files) +
                       "; lower it, or raise the hard limit (ulimit -Hn)");
    }
    limits.connections = std::max<std::size_t>(files / 2, 1);
  }
  for (const auto* proxies : {&config.server.proxies, &config.identity.headers.proxies}) {
    for (const std::string& proxy : *proxies) {
      TRY_ASSIGN(const Network network, Network::Parse(proxy));
      limits.proxies.push_back(network);
    }
  }
  return limits;
}

}  // namespace caisson
