// The WASI shim: the functions of wasi_snapshot_preview1 that the guest's libc calls, implemented
// with a cell's files.
//
// Each method is one WASI function with its arguments as the guest passes them: addresses and
// lengths in its own memory, results stored through pointers. If one of the pointers is bad, it
// stores nothing, changes nothing and returns kFault.
//
// A call that moves much data does a slice of it, returns kUnfinished and is repeated with the same
// arguments and the same Progress. So a guest cannot delay others by using large buffers.
//
// Trust     Every argument is hostile. The work per call is bounded by a slice (kSliceBytes,
//           kSliceEntries), one path or one list of kMaxBuffers buffers.
// Threads   The worker's only thread, inside a HostScope.
// Lifetime  A shim is made for one slice of a call: the guest's memory may have grown before the
//           next.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/wasm/worker/files/cell_files.h"
#include "engine/wasm/worker/files/wasi_errno.h"
#include "engine/wasm/worker/guest_memory.h"

namespace caisson::worker {

enum class ClockId : std::uint32_t {
  kRealtime = 0,
  kMonotonic = 1,
  kProcessCpu = 2,
  kThreadCpu = 3
};

// Services that a worker provides to a cell.
class CellServices : public FileServices {
 public:
  // `stream` is kOut or kErr. Takes all bytes; those beyond the output limit are discarded.
  virtual void Write(Stream stream, std::span<const std::uint8_t> bytes) = 0;
  // Returns nanoseconds. Files use kRealtime.
  virtual std::uint64_t Clock(ClockId id) = 0;
  std::uint64_t Now() final { return Clock(ClockId::kRealtime); }

  // Few in number, without NUL, valid as long as the cell lives.
  virtual std::span<const std::string_view> Arguments() const { return {}; }
  virtual std::span<const std::string_view> Environment() const { return {}; }  // "NAME=value"
};

// The progress of a call that is made in slices. It holds only numbers, because it lies on the
// guest's stack, which can be dropped at any time.
struct Progress {
  std::uint64_t done = 0;    // Bytes done so far.
  std::uint32_t buffer = 0;  // The next buffer.
  std::uint32_t at = 0;      // The bytes of it that are done.
  std::uint64_t cookie = 0;  // For a listing: the next entry.
};

// Further bounds on one slice besides kSliceBytes. Generating random bytes is slower than copying.
inline constexpr std::uint64_t kSliceRandomBytes = std::uint64_t{32} << 10;
inline constexpr std::uint32_t kSliceEntries = 256;

struct ShimContext {
  GuestMemory memory;
  CellFiles& files;
  CellServices& services;
  Progress& progress;
};

class WasiShim {
 public:
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;

  static constexpr U32 kMaxBuffers = 1024;                 // As on Linux: longer lists are kInval.
  static constexpr U64 kMaxTransferBytes = U64{32} << 20;  // Maximum for one read or write.
  static constexpr U64 kMaxDeviceTransferBytes = U64{64} << 10;  // The same for a device.
  static constexpr U32 kMaxRandomBytes = U32{1} << 20;

  explicit WasiShim(const ShimContext& context)
      : memory_(context.memory),
        files_(context.files),
        services_(context.services),
        progress_(context.progress) {}

  Errno ArgsGet(U32 pointers, U32 text);
  Errno ArgsSizesGet(U32 count, U32 text_bytes);
  Errno EnvironGet(U32 pointers, U32 text);
  Errno EnvironSizesGet(U32 count, U32 text_bytes);
  Errno ClockResGet(U32 id, U32 result);
  Errno ClockTimeGet(U32 id, U64 precision, U32 result);
  Errno RandomGet(U32 buffer, U32 length);
  Errno SchedYield() { return Errno::kSuccess; }
  // Not supported: the guest sleeps and waits through its own host calls.
  Errno PollOneoff(U32, U32, U32, U32) { return Errno::kNotsup; }

  Errno FdAdvise(U32 fd, U64 offset, U64 length, U32 advice);
  Errno FdAllocate(U32 fd, U64 offset, U64 length) { return files_.Allocate(fd, offset, length); }
  Errno FdClose(U32 fd) { return files_.Close(fd); }
  Errno FdDatasync(U32 fd) { return CheckOpen(fd); }
  Errno FdFdstatGet(U32 fd, U32 result);
  Errno FdFdstatSetFlags(U32 fd, U32 flags);
  Errno FdFdstatSetRights(U32 fd, U64 base, U64 inheriting);
  Errno FdFilestatGet(U32 fd, U32 result);
  Errno FdFilestatSetSize(U32 fd, U64 size) { return files_.SetSize(fd, size); }
  Errno FdFilestatSetTimes(U32 fd, U64 accessed, U64 modified, U32 flags);
  Errno FdPread(U32 fd, U32 buffers, U32 count, U64 offset, U32 result);
  Errno FdPrestatDirName(U32 fd, U32 path, U32 length);
  Errno FdPrestatGet(U32 fd, U32 result);
  Errno FdPwrite(U32 fd, U32 buffers, U32 count, U64 offset, U32 result);
  Errno FdRead(U32 fd, U32 buffers, U32 count, U32 result);
  Errno FdReaddir(U32 fd, U32 buffer, U32 length, U64 cookie, U32 result);
  Errno FdRenumber(U32 from, U32 to) { return files_.Renumber(from, to); }
  Errno FdSeek(U32 fd, U64 offset, U32 whence, U32 result);
  Errno FdSync(U32 fd) { return CheckOpen(fd); }
  Errno FdTell(U32 fd, U32 result);
  Errno FdWrite(U32 fd, U32 buffers, U32 count, U32 result);

  Errno PathCreateDirectory(U32 fd, U32 path, U32 length);
  Errno PathFilestatGet(U32 fd, U32 lookup, U32 path, U32 length, U32 result);
  Errno PathFilestatSetTimes(U32 fd, U32 lookup, U32 path, U32 length, U64 accessed, U64 modified,
                             U32 flags);
  Errno PathLink(U32, U32, U32, U32, U32, U32, U32) { return Errno::kNotsup; }
  Errno PathOpen(U32 fd, U32 lookup, U32 path, U32 length, U32 open_flags, U64 rights,
                 U64 inheriting, U32 flags, U32 result);
  Errno PathReadlink(U32 fd, U32 path, U32 length, U32 buffer, U32 buffer_bytes, U32 result);
  Errno PathRemoveDirectory(U32 fd, U32 path, U32 length);
  Errno PathRename(U32 old_fd, U32 old_path, U32 old_length, U32 new_fd, U32 new_path,
                   U32 new_length);
  Errno PathSymlink(U32, U32, U32, U32, U32) { return Errno::kNotsup; }
  Errno PathUnlinkFile(U32 fd, U32 path, U32 length);

  Errno SockAccept(U32 fd, U32, U32) { return NoSocket(fd); }
  Errno SockRecv(U32 fd, U32, U32, U32, U32, U32) { return NoSocket(fd); }
  Errno SockSend(U32 fd, U32, U32, U32, U32) { return NoSocket(fd); }
  Errno SockShutdown(U32 fd, U32) { return NoSocket(fd); }

 private:
  Errno CheckOpen(U32 fd);
  Errno NoSocket(U32 fd);
  Errno StoreStrings(std::span<const std::string_view> strings, U32 pointers, U32 text);
  Errno StoreSizes(std::span<const std::string_view> strings, U32 count, U32 text_bytes);
  Errno StoreStat(const Io<FileStat>& stat, U32 result);
  // Checks a list of buffers and the address for the result.
  Errno CheckBuffers(U32 buffers, U32 count, U32 result) const;
  // Calls `step` for each buffer until one is not filled or the slice is done, then stores the
  // number of bytes done.
  template <typename Step>
  Errno Transfer(U32 buffers, U32 count, U32 result, U64 most, Step step);
  U64 MostOf(U32 fd);

  GuestMemory memory_;
  CellFiles& files_;
  CellServices& services_;
  Progress& progress_;
};

// Returns the shim of the cell whose call is being served. Implemented by the worker's cell switch.
ShimContext CurrentShim(Progress& progress);

}  // namespace caisson::worker
