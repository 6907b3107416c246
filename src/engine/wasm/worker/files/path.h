// Defines valid paths and names in a cell, and splits paths into components.
//
// Trust     Every path comes from the guest: any bytes, any length.
// Threads   Any.
// Lifetime  Pure functions over views.
#pragma once

#include <cstddef>
#include <string_view>

#include "engine/wasm/worker/files/wasi_errno.h"

namespace caisson::worker {

inline constexpr std::size_t kMaxPathBytes = 4096;
inline constexpr std::size_t kMaxNameBytes = 255;

// Returns kSuccess if `path` may be walked: not empty (kNoent), not too long (kNametoolong), no NUL
// (kInval), UTF-8 without surrogates (kIlseq).
Errno CheckPath(std::string_view path);

// Returns whether `name` can be a directory entry: one to 255 bytes of UTF-8, no slash, no NUL, not
// "." or "..".
bool IsEntryName(std::string_view name);

// Removes the next component and the slashes around it from the front of `rest` and returns it.
// Returns an empty view at the end.
std::string_view TakeComponent(std::string_view& rest);

}  // namespace caisson::worker
