// The error numbers of WASI snapshot preview 1 that a guest sees, and Io<T>: a value or an error
// number.
//
// Trust     Constants only.
// Threads   Any.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <expected>

namespace caisson::worker {

// An error here is an answer to the guest and never a failure of the worker. So it is a value, not
// an Error.
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
  // These two never reach a guest. kPending: the host must be asked first (HostRequest), then the
  // call is repeated. kUnfinished: a slice of the work is done; other cells may run before the call
  // is repeated.
  kPending = 0xffff,
  kUnfinished = 0xfffe,
};

template <typename T>
using Io = std::expected<T, Errno>;

}  // namespace caisson::worker
