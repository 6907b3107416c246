// What a cell sees of the host's directories: its mounts, and what it has to ask the host about them.
//
// Trust     Mounts and answers come from the host: trusted, yet checked where a mistake would be a hole.
// Threads   The worker's one thread.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/frames.h"

namespace caisson::worker {

// A directory of the host that the cell sees at `path`.
struct Mount {
  std::string path;       // Absolute and normal: "/data".
  bool writable = false;  // In the cell's own layer; the host decides what becomes of that.
  std::uint64_t write_bytes_limit = 0;  // All that is written below it; 0: no limit of its own.

  bool operator==(const Mount&) const = default;
};

// What must be known before a call of the guest can be done. It is asked of the host while the cell
// waits; then the call is made again from its beginning.
struct HostRequest {
  enum class Kind : std::uint8_t { kList, kRead };

  Kind kind = Kind::kList;
  std::uint32_t mount = 0;
  std::string path;  // Relative to the mount.
  // The rest for kRead only; see wire::FileReadHeader.
  wire::FileVersion version;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  bool exact = false;
};

// Names directly below a mount that begin like this are the host's own, for what it applies there.
inline constexpr std::string_view kReservedPrefix = ".caisson-";

}  // namespace caisson::worker
