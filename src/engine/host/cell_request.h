// Encodes the messages that start a run in the format that the worker and the guest expect.
//
// Trust     The content comes from callers. Sizes were checked against the limits.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "wire/frames.h"

namespace caisson {

wire::StartHeader MakeStartHeader(const Limits& limits);

// Appends the request Value that guest/abi.h describes.
void AppendRequest(const RunRequest& request, AfterRun after, std::string& out);

// Appends the files Value: a list of tuples (path str, contents bytes) for files and (path str,
// mode int, write_bytes_limit int) for mounts. Appends nothing if there are none.
void AppendFiles(const std::vector<InputFile>& files, std::span<const MountPoint> mounts,
                 std::string& out);

}  // namespace caisson
