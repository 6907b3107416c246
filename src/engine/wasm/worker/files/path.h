// What may be a path and a name in a cell, and how a path falls into its components.
//
// Trust     Every path is the guest's: any bytes, any length.
// Threads   Any.
// Lifetime  Pure functions over views.
#pragma once

#include <cstddef>
#include <string_view>

#include "engine/wasm/worker/files/wasi_errno.h"

namespace caisson::worker {

inline constexpr std::size_t kMaxPathBytes = 4096;
inline constexpr std::size_t kMaxNameBytes = 255;

// kSuccess if `path` may be walked: not empty (kNoent), not too long (kNametoolong), no NUL
// (kInval), UTF-8 without surrogates (kIlseq).
Errno CheckPath(std::string_view path);

// Whether `name` can be a directory entry: one to 255 bytes of UTF-8, no slash, no NUL, not "." or
// "..".
bool IsEntryName(std::string_view name);

// Takes the next component off the front of `rest` together with the slashes around it. Empty at
// the end.
std::string_view TakeComponent(std::string_view& rest);

}  // namespace caisson::worker
