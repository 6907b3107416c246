// What the host, a nursery and its cells say to each other (engine `native`).
//
// Two kinds of socket. The control socket (SOCK_SEQPACKET, descriptors by SCM_RIGHTS) is between host
// and nursery: one packet is one of the structs below. Each cell has a socket of its own (SOCK_STREAM)
// over which it speaks the frames of wire/frames.h, each behind a StreamFrame: kStart, kAgain, kAnswer,
// kCancel, kSave (with a wire/survey.h) and kRestore down; kCall, kDone, kSaved, kRestored and kRefused up. Its stdout and stderr are pipes.
//
// Trust     The control socket is trusted until the first cell runs code and is checked all the same:
//           lengths, known cell numbers, the number of descriptors. A cell's socket is hostile (I9).
// Threads   Types only.
// Lifetime  Types only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caisson::wire {

enum class ToNursery : std::uint32_t {
  // Prepare one cell. MakeCell, then its mounts; with descriptors of its groups, then a tree (jail/tree.h) for
  // each mount.
  kMake = 1,
  kMakeNow = 2,  // The same for a run that is waiting for it: not warmed.
};
inline bool IsKnown(ToNursery kind) {
  return kind == ToNursery::kMake || kind == ToNursery::kMakeNow;
}

// A cell as it has to be before it knows its run. What the run's own header can still tighten (time,
// memory, open files) is not in here.
struct MakeCell {
  ToNursery kind;
  std::uint32_t processes;
  std::uint64_t cell;
  std::uint64_t total_file_bytes;  // The size of its private files.
  std::uint32_t files;             // Their number.
  std::uint16_t mounts;            // As many MakeMounts follow, each with its path.
  std::uint16_t groups;  // The first descriptors: cgroup.procs that the cell is to enter by.
};

// A directory of the host that the cell is to see.
struct MakeMount {
  std::uint32_t writable;  // 1: through a layer of the cell's own.
  std::uint32_t path_length;
  std::uint64_t layer_bytes;  // What fits into that.
};

enum class FromNursery : std::uint32_t {
  kReady = 1,     // NurseryReady, then the walls that are missing, one per line.
  kBorn = 2,      // CellNews; with a pidfd. The cell exists: from here on a kGone follows.
  kPrepared = 3,  // CellNews; with CellDescriptors. It is confined, warm, and reads its socket.
  kFailed = 4,    // CellNews, then text: it could not be made (after kBorn, kGone follows too).
  kGone = 5,      // CellGone: its whole process tree is dead and reaped. Always the last of a cell.
};

struct NurseryReady {
  FromNursery kind;
  std::uint32_t missing_length;
  std::uint32_t copies = 0;  // 1: its cells can be saved and restored.
};

struct CellNews {
  FromNursery kind;
  std::uint32_t text_length;
  std::uint64_t cell;
};

struct CellGone {
  FromNursery kind;
  std::int32_t signal;  // That killed it, or 0.
  std::uint64_t cell;
  std::int32_t status;  // Of exit; meaningful when signal == 0.
  // 1: nothing was ever done to its private files. They may be another cell's by now: nobody is to look.
  std::uint32_t files_untouched;
  std::uint64_t cpu_ns;             // With its descendants.
  std::uint64_t peak_memory_bytes;  // Of its largest process.
};

// The order of descriptors that come with kPrepared.
enum class CellDescriptor : std::size_t {
  kSocket = 0,
  kStdout = 1,
  kStderr = 2,
  kFiles = 3,  // A directory. Absent if there is neither a mount namespace nor a scratch directory.
  kListener =
      4,  // With a scratch directory: what the cell must ask about (jail/listener.h). It has no layers then.
};
inline constexpr std::size_t kCellDescriptors = 4;  // Up to kFiles.
// After them, the layer of each writable mount: a directory with what was written, and character devices 0:0 in
// the place of what was removed.
inline constexpr std::size_t kMaxCellMounts = 16;
inline constexpr std::size_t kMaxCellGroups = 4;

// Below "tmp", "output" and "input" in the directory of kFiles lie the cell's private files.

inline constexpr std::size_t kMaxControlBytes = 64 << 10;

// Before each frame on a cell's socket.
struct StreamFrame {
  std::uint32_t length;  // Of the payload that follows; at most kMaxFramePayload.
  std::uint16_t kind;    // ToWorker or ToHost.
  std::uint16_t flags;   // kMoreFollows or 0.
};

// The descriptor a nursery is started with.
inline constexpr int kControlFd = 3;

}  // namespace caisson::wire
