// A Mount is a directory of the host that may be shown to runs: checked, and held by its descriptor.
//
// Trust     Specs come from operators and callers; the directory's contents from anybody.
// Threads   ParseMount is pure; the others ask the file system and may block.
// Lifetime  A Mount owns its descriptor: it stays the directory that was checked, whatever its name
//           later leads to.
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
  std::string host;  // A directory, relative to the current one or absolute.
  MountPoint point;

  bool operator==(const MountSpec&) const = default;
};

// "HOST:GUEST[:ro|rw|overlay]", as on the command line; ro if nothing is said. HOST may have colons.
Result<MountSpec> ParseMount(std::string_view text);

struct Mount {
  MountPoint point;
  std::string host;    // For messages.
  UniqueFd directory;  // O_PATH.
  DirectoryId id{};
};

// Opens all mounts of a cell, or says which one cannot be and why: no such directory, a link, a place
// that must not be shown (/, /proc, /sys, /dev, a directory or file of `hidden`, there or not yet, or what is around or inside it), a guest
// path that is not absolute and normal or already taken, two mounts that overlap.
Result<std::vector<Mount>> OpenMounts(std::vector<MountSpec> specs,
                                      std::span<const std::string> hidden);
// What OpenMounts would say to each of them, if it did not end with the first that it refuses.
std::vector<Result<void>> CheckMounts(std::vector<MountSpec> specs,
                                      std::span<const std::string> hidden);

}  // namespace caisson::workspace
