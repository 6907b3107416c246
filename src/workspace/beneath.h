// Operations beneath a directory of the host: look, list, read. No other code in this folder opens
// a path.
//
// Trust     Paths are hostile, and so is the tree: it may change at any time and hold links, pipes
//           and devices. The kernel resolves every path beneath the directory, through no link,
//           into no other file system (I11). Only regular files are read, and no open blocks.
// Threads   Any.
// Lifetime  Functions over a borrowed descriptor.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "engine/host_files.h"

namespace caisson::workspace {

// Names directly below a mount with this prefix belong to Caisson and are not shown.
inline constexpr std::string_view kReservedPrefix = ".caisson-";

// Returns true if `path` is relative and normal: components of one to 255 bytes of UTF-8, none "."
// or "..", at most 4095 bytes in total. The empty path is the directory itself.
bool IsPlainPath(std::string_view path);

// Opens the file at `path`. On failure returns a UniqueFd that is not open and sets errno.
// Precondition: IsPlainPath.
UniqueFd OpenBeneath(const UniqueFd& directory, const std::string& path, int flags,
                     std::uint64_t mode = 0);

wire::FileVersion VersionOf(const struct ::stat& stat);

std::expected<std::vector<HostEntry>, wire::FileError> ListBeneath(const UniqueFd& directory,
                                                                   const std::string& path);
std::expected<std::string, wire::FileError> ReadBeneath(const UniqueFd& directory,
                                                        const HostRange& range);

}  // namespace caisson::workspace
