// The error numbers a guest sees, as WASI snapshot preview 1 numbers them, and Io<T>: a value or
// one.
//
// Trust     Constants only.
// Threads   Any.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <expected>

namespace caisson::worker {

// An error here is an answer to the guest, never a failure of ours: it is a value, not an Error.
enum class [[nodiscard]] Errno : std::uint16_t {
  kSuccess = 0,
  kAcces = 2,
  kBadf = 8,
  kExist = 20,
  kFault = 21,
  kFbig = 22,
  kIlseq = 25,
  kInval = 28,
  kIo = 29,
  kIsdir = 31,
  kMfile = 33,
  kNametoolong = 37,
  kNoent = 44,
  kNospc = 51,
  kNosys = 52,
  kNotdir = 54,
  kNotempty = 55,
  kNotsock = 57,
  kNotsup = 58,
  kOverflow = 61,
  kRofs = 69,
  kSpipe = 70,
  kStale = 72,
  kXdev = 75,
  // No guest sees these two. kPending: the host must be asked first (HostRequest), then the call made
  // again. kUnfinished: a slice of the work is done; others may run before the call is made again.
  kPending = 0xffff,
  kUnfinished = 0xfffe,
};

template <typename T>
using Io = std::expected<T, Errno>;

}  // namespace caisson::worker
