// A Mount is a directory of the host that may be shown to runs. It is checked, and held by its
// descriptor.
//
// Trust     Specs come from operators and callers; the directory's contents may be hostile.
// Threads   ParseMount is pure; the others use the file system and may block.
// Lifetime  A Mount owns its descriptor, so it stays the directory that was checked even if its
//           name later leads elsewhere.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/host_files.h"

namespace caisson::workspace {

struct MountSpec {
  std::string host;  // A directory, absolute or relative to the current one.
  MountPoint point;

  bool operator==(const MountSpec&) const = default;
};

// Parses "HOST:GUEST[:ro|rw|overlay]", as on the command line; the default is ro. HOST may have
// colons.
Result<MountSpec> ParseMount(std::string_view text);

struct Mount {
  MountPoint point;
  std::string host;    // For messages.
  UniqueFd directory;  // O_PATH.
  DirectoryId id{};
};

// Opens all mounts of a cell. Fails and names the first mount that is refused, and why: no such
// directory, a link, a place that must not be shown (/, /proc, /sys, /dev, or a path of `hidden`,
// existing or not, or anything around or inside it), a guest path that is not absolute and normal
// or is already taken, two mounts that overlap.
Result<std::vector<Mount>> OpenMounts(std::vector<MountSpec> specs,
                                      std::span<const std::string> hidden);
// Returns for each mount what OpenMounts would say, without stopping at the first refusal.
std::vector<Result<void>> CheckMounts(std::vector<MountSpec> specs,
                                      std::span<const std::string> hidden);

}  // namespace caisson::workspace
