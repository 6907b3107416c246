// What can be done beneath a directory of the host: look, list, read. Nothing else in here opens a path.
//
// Trust     Paths are hostile, and so is the tree: it may change under our hands at any time, and hold
//           links, pipes and devices. Every path is resolved by the kernel beneath the directory, through
//           no link, into no other file system (I11); nothing but a regular file is ever read, and no
//           open blocks.
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

// Names directly below a mount that begin like this are ours and are not shown.
inline constexpr std::string_view kReservedPrefix = ".caisson-";

// Whether `path` is relative and normal: components of one to 255 bytes of UTF-8, none "." or "..", in all
// at most 4095 bytes. The empty path is the directory itself.
bool IsPlainPath(std::string_view path);

// Opens what is at `path`; not open and errno set if it cannot be. Precondition: IsPlainPath.
UniqueFd OpenBeneath(const UniqueFd& directory, const std::string& path, int flags,
                     std::uint64_t mode = 0);

wire::FileVersion VersionOf(const struct ::stat& stat);

std::expected<std::vector<HostEntry>, wire::FileError> ListBeneath(const UniqueFd& directory,
                                                                   const std::string& path);
std::expected<std::string, wire::FileError> ReadBeneath(const UniqueFd& directory,
                                                        const HostRange& range);

}  // namespace caisson::workspace
