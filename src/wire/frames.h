// The frames that the host and a wasm worker exchange over their two rings.
//
// A message is one frame, or several joined (kMoreFollows). Integers are little-endian; the structs
// below are sent as they lie in memory, both sides being parts of one build on one machine.
//
// Trust     Worker to host: everything is hostile. Host to worker: trusted, yet range-checked, since a
//           mistake there would be a hole.
// Threads   Types only.
// Lifetime  Types only.
#pragma once

#include <atomic>
#include <cstdint>

#include "wire/ring.h"

namespace caisson::wire {

enum class ToWorker : std::uint16_t {
  kStart = 1,    // StartHeader, request Value, trace, files Value: run code in a fresh cell.
  kAnswer = 2,   // AnswerHeader, answer Value: to a call of this cell.
  kCancel = 3,   // Nothing: end the run and forget the cell.
  kSave = 4,     // SaveHeader: turn a parked or idle cell into bytes.
  kRestore = 5,  // StartHeader, files Value (request_length long), trace, blob: make a cell out of
                 // bytes; it waits where it was.
  kAgain = 6,    // StartHeader, request Value: run more code in an idle cell that was kept.
  kFileAnswer = 7,  // FileAnswerHeader, then the bytes that were read, or a ListedHeader and a name
                    // for each entry.
};

enum class ToHost : std::uint16_t {
  kReady = 1,   // ReadyHeader, then the walls that are missing, one per line.
  kOutput = 2,  // One byte of stream (1 stdout, 2 stderr), then bytes.
  kCall = 3,  // CallHeader, trace, call Value: the cell goes on, or is parked until it is answered.
  kDone = 4,  // DoneHeader, report Value: the run has ended.
  kFile = 5,  // FileHeader, path, contents: one captured file, before kDone.
  kSaved = 6,  // The blob of a saved cell.
  kRestored =
      7,         // A restored cell is in place; payload: the numbers (u32) of its unanswered calls.
  kRefused = 8,  // Text: a kStart, kSave or kRestore could not be done, and why.
  kFileList = 9,   // FileListHeader, path: what is in a directory of a mount? The cell waits.
  kFileRead = 10,  // FileReadHeader, path: bytes of a file of a mount. The cell waits.
  kChange = 11,    // ChangeHeader, path, contents: what the run did below a mount, before kDone.
  kTail = 12,      // TailHeader, trace: of a recorded run, just before its kSaved.
  kSleep = 13,     // SleepHeader: a recorded run begins a long sleep, or goes on.
};
inline constexpr ToHost kLastToHost = ToHost::kSleep;

// What a run may use, and how it sees time and chance.
struct StartHeader {
  std::uint64_t wall_ns;
  std::uint64_t cpu_ns;
  std::uint64_t memory_bytes;
  std::uint64_t stdout_bytes;
  std::uint64_t stderr_bytes;
  std::uint64_t result_bytes;
  std::uint64_t file_bytes;        // One file.
  std::uint64_t total_file_bytes;  // All files of the cell together.
  std::uint32_t files;
  std::uint32_t open_files;
  std::uint32_t tool_calls;
  std::uint32_t message_bytes;  // One call or answer.
  std::uint32_t request_length;
  std::uint32_t flags;  // kKeepCell, kRecorded.
  std::uint64_t
      trace_length;       // Of what is to be replayed: for each part u32 number, u32 length, bytes.
  std::uint8_t seed[32];  // kRecorded: randomness comes from this.
};
// The cell is kept, idle, after the run: a session.
inline constexpr std::uint32_t kKeepCell = 1;
// The run may be replayed: randomness comes from `seed`; clock readings and the ends of waits are recorded (the trace,
// see engine/wasm/worker/trace.h), and the host is told of long sleeps.
inline constexpr std::uint32_t kRecorded = 2;

// The most that is recorded of a run: about 100,000 clock readings. Bytes.
inline constexpr std::uint32_t kMaxTraceBytes = 256 << 10;
// The longest part of a trace: all of it, and its head.
inline constexpr std::uint32_t kMaxTracePartBytes = kMaxTraceBytes + 64;
// The first byte of a part: something before its end was not recorded, because there was too much.
inline constexpr std::uint8_t kTraceCut = 1;
// A sleep that is at least so long is told to the host, which can then save the cell. Nanoseconds; as much again for each
// kSavedBytesPerSleep by which the cell's memory has grown.
inline constexpr std::uint64_t kLongSleepNs = 1'000'000'000;
inline constexpr std::uint64_t kSavedBytesPerSleep = 4 << 20;

struct AnswerHeader {
  std::uint32_t seq;
  std::uint32_t reserved;
  std::uint64_t clock_ns;  // The time of this answer. Read by kept workers of older builds only.
};

struct SaveHeader {
  std::uint32_t keep;  // 1: the cell goes on living here too (a branch), 0: it is freed.
  std::uint32_t reserved;
  std::uint64_t max_bytes;  // A longer blob is refused (kRefused), and the cell stays as it is.
};

struct ReadyHeader {
  std::uint8_t build_id[20];
  std::uint8_t base_hash[32];
  std::uint32_t base_bytes;  // Linear memory a fresh cell begins with.
  std::uint32_t missing_length;
};

struct CallHeader {
  std::uint32_t seq;
  std::uint32_t trace_length;  // Part `seq` of the trace.
};

struct TailHeader {
  std::uint64_t wake_ns;  // Real time: the saved cell sleeps until then. 0: it does not sleep.
};

struct SleepHeader {
  std::uint64_t wake_ns;  // Real time; 0: it goes on.
};

enum class Ending : std::uint32_t {
  kReported = 0,  // The guest logic gave its report.
  kTrap = 1,      // `detail`: Trap.
  kWallTime = 2,
  kCpuTime = 3,
  kCancelled = 4,
  kExit = 5,  // os._exit; `detail`: the status.
  kResultTooBig = 6,
  kToolCalls = 7,
};

enum class Trap : std::uint32_t {
  kOther = 0,
  kMemory = 1,        // Out of the linear memory.
  kIndirectCall = 2,  // A call through a bad function pointer: corrupt bytecode, usually.
  kStack = 3,         // The stack is used up.
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
// memory.grow was refused at least once: a MemoryError that follows is the limit's doing.
inline constexpr std::uint32_t kMemoryRefused = 4;
// The cell lives on, idle.
inline constexpr std::uint32_t kCellKept = 8;
// More was changed below the mounts than was sent.
inline constexpr std::uint32_t kChangesMissing = 16;

// A report may be longer than result_bytes by this (error, traceback, findings); one that is longer
// still ends the run as kResultTooBig.
inline constexpr std::uint32_t kReportSlackBytes = 1 << 20;

// Why a captured file comes without its contents.
enum class Omitted : std::uint32_t {
  kNot = 0,
  kFileBytes = 1,       // Larger than one file may be.
  kTotalFileBytes = 2,  // The files before it left too little.
  kFiles = 3,           // One too many.
};

struct FileHeader {
  std::uint32_t path_length;
  std::uint32_t change;  // 0 created, 1 modified, 2 deleted.
  std::uint64_t size;    // Of the file; its contents follow unless `omitted`.
  Omitted omitted;
  std::uint32_t reserved;
};

// The mounts of a cell are numbered as the host gave them. Paths below one are relative to it, without
// "." and ".."; the empty path is its root. A cell has at most one kFileList or kFileRead open.

// Names in a path that is made below a mount.
inline constexpr int kMaxMountDepth = 64;

// The mode, in the files Value, of a mount below which nothing may change.
inline constexpr std::int64_t kReadOnlyMount = 0;

// By what a file of the host is told from another, or from itself at another time.
struct FileVersion {
  std::uint64_t inode = 0;  // 0: there is no file.
  std::uint64_t size = 0;
  std::uint64_t modified_ns = 0;
  bool operator==(const FileVersion&) const = default;
};

struct FileListHeader {
  std::uint32_t number;  // Chosen by the worker; the answer has it.
  std::uint32_t mount;
};

inline constexpr std::uint32_t kMaxReadBytes = 256 << 10;
struct FileReadHeader {
  std::uint32_t number;
  std::uint32_t mount;
  FileVersion version;  // What the cell takes the file for.
  std::uint64_t offset;
  std::uint32_t length;  // At most kMaxReadBytes.
  std::uint32_t exact;   // 1: not if it has changed since. 0: as long as it is the same inode.
};

enum class FileError : std::uint32_t {
  kNone = 0,
  kGone = 1,     // Nothing there, or nothing that a cell may see.
  kChanged = 2,  // Not the file that the cell takes it for.
  kDenied = 3,   // The host may not read it, or it lies in another file system.
  kTooMany = 4,  // More entries than a listing may have.
  kFailed = 5,
};

struct FileAnswerHeader {
  std::uint32_t number;
  FileError error;  // If not kNone, nothing follows.
};

inline constexpr std::uint32_t kMaxListed = 50'000;  // One directory, and all of a cell's together.
struct ListedHeader {
  FileVersion version;
  std::uint16_t name_length;
  std::uint16_t directory;  // 1: one, 0: a regular file. Nothing else is ever listed.
  std::uint32_t reserved;
};

struct ChangeHeader {
  FileHeader file;
  std::uint32_t mount;
  std::uint32_t directory;  // 1: it was made or removed; no contents.
  FileVersion seen;         // What the run found there before it changed it.
};

// One worker's shared memory: two headers on the first page, then the bytes of each direction.
inline constexpr std::size_t kRingBytes = 1 << 20;
struct ChannelLayout {
  RingHeader to_worker;
  RingHeader to_host;  // reader_waits: 1 if the host is to be told of frames through kNotifyFd.
  // 1: the host sits on another core and watches its ring; the worker does so too before it sleeps.
  alignas(64) std::atomic<std::uint32_t> host_watches;
};
// How long either side watches its ring before it sleeps, if they sit on two cores: as long as waking a core can take.
inline constexpr std::int64_t kWatchNs = 200'000;
inline constexpr std::size_t kChannelHeaderBytes = 4096;
static_assert(sizeof(ChannelLayout) <= kChannelHeaderBytes);
inline constexpr std::size_t kChannelBytes = kChannelHeaderBytes + 2 * kRingBytes;

// Descriptors the worker is started with.
inline constexpr int kBaseFd = 3;     // caisson.base, read-only.
inline constexpr int kChannelFd = 4;  // The shared memory.
inline constexpr int kNotifyFd = 5;   // eventfd: the worker wrote to a ring the host had emptied.

}  // namespace caisson::wire
