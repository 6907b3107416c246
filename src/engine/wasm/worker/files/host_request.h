// A cell's view of the host's directories: its mounts, and the requests that it sends to the host
// about them.
//
// Trust     Mounts and answers come from the host. They are trusted, but checked where a mistake
//           would open a hole.
// Threads   The worker's only thread.
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
  bool writable = false;  // In the cell's own layer; the host decides what to do with the changes.
  // Limit on all bytes written below it; 0: no separate limit.
  std::uint64_t write_bytes_limit = 0;

  bool operator==(const Mount&) const = default;
};

// Information that a call of the guest needs before it can be done. The worker asks the host for it
// while the cell waits, and then repeats the call from its beginning.
struct HostRequest {
  enum class Kind : std::uint8_t { kList, kRead };

  Kind kind = Kind::kList;
  std::uint32_t mount = 0;
  std::string path;  // Relative to the mount.
  // The remaining fields are for kRead only; see wire::FileReadHeader.
  wire::FileVersion version;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  bool exact = false;
};

// Names directly below a mount with this prefix are reserved for the host, which uses them to apply
// changes.
inline constexpr std::string_view kReservedPrefix = ".caisson-";

}  // namespace caisson::worker
