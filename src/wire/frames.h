// The frames that the host and a wasm worker exchange over their two rings.
//
// A message is one frame, or several joined ones (kMoreFollows). Integers are little-endian. The
// structs below are sent as they lie in memory, because both sides belong to one build on one
// machine.
//
// Trust     Worker to host: everything is hostile. Host to worker: trusted, but range-checked,
//           because a mistake there would be a security hole.
// Threads   Types only.
// Lifetime  Types only.
#pragma once

#include <atomic>
#include <cstdint>

#include "wire/ring.h"

namespace caisson::wire {

enum class ToWorker : std::uint16_t {
  kStart = 1,       // StartHeader, request Value, trace, files Value: runs code in a fresh cell.
  kAnswer = 2,      // AnswerHeader, answer Value: answers a call of this cell.
  kCancel = 3,      // No payload: ends the run and discards the cell.
  kSave = 4,        // SaveHeader: turns a parked or idle cell into bytes.
  kRestore = 5,     // StartHeader, files Value (request_length bytes), trace, blob:
                    // makes a cell from bytes. It waits where it was.
  kAgain = 6,       // StartHeader, request Value: runs more code in a kept idle cell.
  kFileAnswer = 7,  // FileAnswerHeader, then the bytes that were read, or for each
                    // entry a ListedHeader and a name.
};

enum class ToHost : std::uint16_t {
  kReady = 1,   // ReadyHeader, then the missing parts of the boundary, one per line.
  kOutput = 2,  // One byte for the stream (1 stdout, 2 stderr), then its bytes.
  kCall = 3,    // CallHeader, trace, call Value: the cell continues, or is parked until the answer.
  kDone = 4,    // DoneHeader, report Value: the run has ended.
  kFile = 5,    // FileHeader, path, contents: one captured file. Sent before kDone.
  kSaved = 6,   // The blob of a saved cell.
  kRestored =
      7,         // A restored cell is in place. Payload: the numbers (u32) of its unanswered calls.
  kRefused = 8,  // Text: why a kStart, kSave or kRestore failed.
  kFileList = 9,   // FileListHeader, path: lists a directory of a mount. The cell waits.
  kFileRead = 10,  // FileReadHeader, path: reads bytes of a file of a mount. The cell waits.
  kChange = 11,    // ChangeHeader, path, contents: one change below a mount. Sent before kDone.
  kTail = 12,      // TailHeader, trace: for a recorded run, just before its kSaved.
  kSleep = 13,     // SleepHeader: a recorded run begins a long sleep, or ends it.
};
inline constexpr ToHost kLastToHost = ToHost::kSleep;

// The limits of a run, and its sources of time and randomness.
struct StartHeader {
  std::uint64_t wall_ns;
  std::uint64_t cpu_ns;
  std::uint64_t memory_bytes;
  std::uint64_t stdout_bytes;
  std::uint64_t stderr_bytes;
  std::uint64_t result_bytes;
  std::uint64_t file_bytes;        // Limit of one file.
  std::uint64_t total_file_bytes;  // Limit of all files of the cell together.
  std::uint32_t files;
  std::uint32_t open_files;
  std::uint32_t tool_calls;
  std::uint32_t message_bytes;  // Limit of one call or answer.
  std::uint32_t request_length;
  std::uint32_t flags;         // kKeepCell, kRecorded.
  std::uint64_t trace_length;  // The trace to replay: for each part u32 number, u32 length, bytes.
  std::uint8_t seed[32];       // kRecorded: the source of randomness.
};
// The cell is kept idle after the run, for a session.
inline constexpr std::uint32_t kKeepCell = 1;
// The run may be replayed. Randomness comes from `seed`. Clock readings and the ends of waits are
// recorded (the trace, see engine/wasm/worker/trace.h), and the host is told of long sleeps.
inline constexpr std::uint32_t kRecorded = 2;

// The largest trace of a run, in bytes: about 100,000 clock readings.
inline constexpr std::uint32_t kMaxTraceBytes = 256 << 10;
// The longest part of a trace: a whole trace and its head.
inline constexpr std::uint32_t kMaxTracePartBytes = kMaxTraceBytes + 64;
// The first byte of a part: something before its end was not recorded, because the trace is full.
inline constexpr std::uint8_t kTraceCut = 1;
// The host is told of a sleep of at least this many nanoseconds and can then save the cell. The
// threshold grows by the same amount for each kSavedBytesPerSleep by which the cell's memory has
// grown.
inline constexpr std::uint64_t kLongSleepNs = 1'000'000'000;
inline constexpr std::uint64_t kSavedBytesPerSleep = 4 << 20;

struct AnswerHeader {
  std::uint32_t seq;
  std::uint32_t reserved;
  std::uint64_t clock_ns;  // The time of this answer. Read only by kept workers of older builds.
};

struct SaveHeader {
  std::uint32_t keep;  // 1: the cell also stays here (a branch). 0: it is freed.
  std::uint32_t reserved;
  std::uint64_t max_bytes;  // A longer blob is refused (kRefused), and the cell stays as it is.
};

struct ReadyHeader {
  std::uint8_t build_id[20];
  std::uint8_t base_hash[32];
  std::uint32_t base_bytes;  // Linear memory of a fresh cell.
  std::uint32_t missing_length;
};

struct CallHeader {
  std::uint32_t seq;
  std::uint32_t trace_length;  // Part `seq` of the trace.
};

struct TailHeader {
  std::uint64_t wake_ns;  // Real time at which the saved cell's sleep ends. 0: it does not sleep.
};

struct SleepHeader {
  std::uint64_t wake_ns;  // Real time at which the sleep ends. 0: the run continues.
};

enum class Ending : std::uint32_t {
  kReported = 0,  // The guest logic sent its report.
  kTrap = 1,      // `detail`: Trap.
  kWallTime = 2,
  kCpuTime = 3,
  kCancelled = 4,
  kExit = 5,  // os._exit; `detail`: the exit status.
  kResultTooBig = 6,
  kToolCalls = 7,
  kMemory = 8,  // The answers that the code does not read take too much memory.
};
inline constexpr Ending kLastEnding = Ending::kMemory;

enum class Trap : std::uint32_t {
  kOther = 0,
  kMemory = 1,        // An access outside the linear memory.
  kIndirectCall = 2,  // A call through a bad function pointer, usually from corrupt bytecode.
  kStack = 3,         // The stack is exhausted.
  kUnreachable = 4,   // abort().
  kArithmetic = 5,
};

struct DoneHeader {
  Ending ending;
  std::uint32_t detail;
  std::uint64_t start_ns;  // From the arrival of the request to the first instruction of the guest.
  std::uint64_t wall_ns;
  std::uint64_t cpu_ns;
  std::uint64_t peak_memory_bytes;
  std::uint32_t flags;
  std::uint32_t calls;
};
inline constexpr std::uint32_t kStdoutTruncated = 1;
inline constexpr std::uint32_t kStderrTruncated = 2;
// memory.grow was refused at least once, so a MemoryError that follows is caused by the limit.
inline constexpr std::uint32_t kMemoryRefused = 4;
// The cell was kept and is idle.
inline constexpr std::uint32_t kCellKept = 8;
// The run changed more below the mounts than was sent.
inline constexpr std::uint32_t kChangesMissing = 16;

// A report may be this much longer than result_bytes (error, traceback, findings). A longer report
// ends the run as kResultTooBig.
inline constexpr std::uint32_t kReportSlackBytes = 1 << 20;

// The reason why a captured file comes without its contents.
enum class Omitted : std::uint32_t {
  kNot = 0,
  kFileBytes = 1,       // Larger than the limit of one file.
  kTotalFileBytes = 2,  // Too little left of the limit of all files.
  kFiles = 3,           // Too many files.
};

struct FileHeader {
  std::uint32_t path_length;
  std::uint32_t change;  // 0 created, 1 modified, 2 deleted.
  std::uint64_t size;    // Size of the file. Its contents follow unless `omitted`.
  Omitted omitted;
  std::uint32_t reserved;
};

// The mounts of a cell are numbered in the order in which the host gave them. Paths are relative to
// their mount, without "." and ".."; the empty path is its root. A cell has at most one kFileList
// or kFileRead open.

// The largest number of names in a path that is created below a mount.
inline constexpr int kMaxMountDepth = 64;

// The mode, in the files Value, of a mount that the cell cannot change.
inline constexpr std::int64_t kReadOnlyMount = 0;

// Identifies one version of a host file: tells it from other files and from itself at other times.
struct FileVersion {
  std::uint64_t inode = 0;  // 0: no file.
  std::uint64_t size = 0;
  std::uint64_t modified_ns = 0;
  bool operator==(const FileVersion&) const = default;
};

struct FileListHeader {
  std::uint32_t number;  // Chosen by the worker and repeated in the answer.
  std::uint32_t mount;
};

inline constexpr std::uint32_t kMaxReadBytes = 256 << 10;
struct FileReadHeader {
  std::uint32_t number;
  std::uint32_t mount;
  FileVersion version;  // The version that the cell expects.
  std::uint64_t offset;
  std::uint32_t length;  // At most kMaxReadBytes.
  std::uint32_t exact;   // 1: fails if the file has changed. 0: the same inode is enough.
};

enum class FileError : std::uint32_t {
  kNone = 0,
  kGone = 1,     // It does not exist, or a cell may not see it.
  kChanged = 2,  // It is not the version that the cell expects.
  kDenied = 3,   // The host may not read it, or it is in another file system.
  kTooMany = 4,  // More entries than a listing may have.
  kFailed = 5,
};

struct FileAnswerHeader {
  std::uint32_t number;
  FileError error;  // If not kNone, no data follows.
};

// For one directory, and for all of a cell together.
inline constexpr std::uint32_t kMaxListed = 50'000;
struct ListedHeader {
  FileVersion version;
  std::uint16_t name_length;
  std::uint16_t directory;  // 1: directory, 0: regular file. Other kinds are not listed.
  std::uint32_t reserved;
};

struct ChangeHeader {
  FileHeader file;
  std::uint32_t mount;
  std::uint32_t directory;  // 1: a directory was made or removed; no contents.
  FileVersion seen;         // The version that the run found before it made the change.
};

// The shared memory of one worker: two headers on the first page, then the bytes of each direction.
inline constexpr std::size_t kRingBytes = 1 << 20;
struct ChannelLayout {
  RingHeader to_worker;
  RingHeader to_host;  // reader_waits: 1 if the worker must signal new frames through kNotifyFd.
  // 1: the host runs on another core and polls its ring. The worker then also polls before it
  // sleeps.
  alignas(64) std::atomic<std::uint32_t> host_watches;
};
// The time that either side polls its ring before it sleeps, if they run on two cores. Waking a
// core can take this long.
inline constexpr std::int64_t kWatchNs = 200'000;
inline constexpr std::size_t kChannelHeaderBytes = 4096;
static_assert(sizeof(ChannelLayout) <= kChannelHeaderBytes);
inline constexpr std::size_t kChannelBytes = kChannelHeaderBytes + 2 * kRingBytes;

// The descriptors with which the worker is started.
inline constexpr int kBaseFd = 3;     // caisson.base, read-only.
inline constexpr int kChannelFd = 4;  // The shared memory.
// eventfd: the worker wrote to a ring that the host had emptied.
inline constexpr int kNotifyFd = 5;

}  // namespace caisson::wire
