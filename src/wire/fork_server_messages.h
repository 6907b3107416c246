// The messages between the host, a fork server of engine `native` and its cells.
//
// There are two kinds of socket. The control socket (SOCK_SEQPACKET, descriptors by SCM_RIGHTS)
// connects host and fork server; each packet is one of the structs below. Each cell has its own
// socket (SOCK_STREAM) for the frames of wire/frames.h, each preceded by a StreamFrame: kStart,
// kAgain, kAnswer, kCancel, kSave (with a wire/process_map.h) and kRestore down; kCall, kDone,
// kSaved, kRestored and kRefused up. The cell's stdout and stderr are pipes.
//
// Trust     The control socket is trusted until the first cell runs code, and is always checked:
//           lengths, known cell numbers, the number of descriptors. A cell's socket is hostile
//           (I9).
// Threads   Types only.
// Lifetime  Types only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caisson::wire {

enum class ToForkServer : std::uint32_t {
  // Prepares one cell. MakeCell, then its mounts; with the descriptors of its groups, then one tree
  // (jail/mount_tree.h) for each mount.
  kMake = 1,
  kMakeNow = 2,  // The same for a run that is already waiting: the cell is not warmed.
};
inline bool IsKnown(ToForkServer kind) {
  return kind == ToForkServer::kMake || kind == ToForkServer::kMakeNow;
}

// The properties of a cell that must be set before its run is known. Limits that the run's own
// header can tighten later (time, memory, open files) are not included.
struct MakeCell {
  ToForkServer kind;
  std::uint32_t processes;
  std::uint64_t cell;
  std::uint64_t total_file_bytes;  // The size limit of its private files.
  std::uint32_t files;             // The number limit of its private files.
  std::uint16_t mounts;            // The number of MakeMounts that follow, each with its path.
  // The number of leading descriptors that are the cgroup.procs files to enter.
  std::uint16_t groups;
};

// A host directory that the cell sees.
struct MakeMount {
  std::uint32_t writable;  // 1: writable, through a layer of the cell.
  std::uint32_t path_length;
  std::uint64_t layer_bytes;  // The capacity of that layer.
};

enum class FromForkServer : std::uint32_t {
  kReady = 1,     // ForkServerReady, then the missing parts of the boundary, one per line.
  kBorn = 2,      // CellNews; with a pidfd. The cell exists; a kGone will follow.
  kPrepared = 3,  // CellNews; with CellDescriptors. It is confined, warm, and reads its socket.
  kFailed = 4,    // CellNews, then text: it could not be made (after kBorn, kGone follows too).
  kGone = 5,      // CellGone: its whole process tree is dead and reaped. Always the last message.
};

struct ForkServerReady {
  FromForkServer kind;
  std::uint32_t missing_length;
  std::uint32_t copies = 0;  // 1: its cells can be saved and restored.
};

struct CellNews {
  FromForkServer kind;
  std::uint32_t text_length;
  std::uint64_t cell;
};

struct CellGone {
  FromForkServer kind;
  std::int32_t signal;  // The signal that killed it, or 0.
  std::uint64_t cell;
  std::int32_t status;  // The exit status; valid if signal == 0.
  // 1: the private files were never touched. Another cell may own them by now, so the host must not
  // read them.
  std::uint32_t files_untouched;
  std::uint64_t cpu_ns;             // Includes descendants.
  std::uint64_t peak_memory_bytes;  // Of its largest process.
};

// The order of the descriptors that come with kPrepared.
enum class CellDescriptor : std::size_t {
  kSocket = 0,
  kStdout = 1,
  kStderr = 2,
  kFiles = 3,  // A directory. Absent if there is neither a mount namespace nor a scratch directory.
};
inline constexpr std::size_t kCellDescriptors = 4;  // Up to kFiles.
// The layers of the writable mounts follow. Each is a directory with the written files, and with a
// character device 0:0 in place of each removed file. The last one is the listener of the cell's
// requests (jail/listener.h), if kFiles is there.
inline constexpr std::size_t kMaxCellMounts = 16;
inline constexpr std::size_t kMaxCellGroups = 4;

// The cell's private files are in "tmp", "output" and "input" below the directory of kFiles.

inline constexpr std::size_t kMaxControlBytes = 64 << 10;

// Precedes each frame on a cell's socket.
struct StreamFrame {
  std::uint32_t length;  // Of the payload that follows; at most kMaxFramePayload.
  std::uint16_t kind;    // ToWorker or ToHost.
  std::uint16_t flags;   // kMoreFollows or 0.
};

// The descriptor with which a fork server is started.
inline constexpr int kControlFd = 3;

}  // namespace caisson::wire
