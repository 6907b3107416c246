// HostFiles gives one cell access to directories of the host (its mounts) and applies or reports
// the changes that its runs make there.
//
// Trust     Paths, offsets and changes come from a cell and are hostile. Implementations resolve
//           every path beneath its mount, without following links (I11). Names and contents are
//           passed to the cell unchanged.
// Threads   Called on the cell's lane. No call blocks. Each callback is called once, on any thread.
// Lifetime  One per cell, shared with its pending requests. The threads that answer them end before
//           the engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/outcome.h"
#include "wire/frames.h"

namespace caisson {

enum class MountMode : std::uint8_t {
  kReadOnly = wire::kReadOnlyMount,
  kReadWrite,  // Changes are applied to the host's directory when the run has completed.
  kOverlay,    // Changes belong to the run and appear only in its outcome.
};

struct MountPoint {
  std::string guest_path;  // Absolute and normal: "/data".
  MountMode mode = MountMode::kReadOnly;
  // Maximum that a cell may write below this mount; 0: no separate limit.
  std::uint64_t write_bytes_limit = 0;

  bool operator==(const MountPoint&) const = default;
};

// Identifies a directory and its owner. Two equal ids name the same directory while at least one of
// the directories is open.
struct DirectoryId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;

  bool operator==(const DirectoryId&) const = default;
};

struct HostEntry {
  std::string name;
  bool directory = false;
  wire::FileVersion version{};
};

struct HostRange {
  std::string path;
  wire::FileVersion version{};
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  bool exact = false;  // Require this version of the file, not only this inode.
};

enum class FileChange : std::uint8_t { kCreated, kModified, kDeleted };

// A change that a run made to one path below a mount.
struct HostChange {
  static constexpr std::size_t kNoFile = SIZE_MAX;

  std::uint32_t mount = 0;
  std::string path{};  // Relative to the mount.
  FileChange change = FileChange::kCreated;
  wire::FileVersion seen{};    // The version that the run saw.
  std::size_t file = kNoFile;  // Index into the files of the outcome; kNoFile for a directory.
  // Not empty: the record of the run's changes is incomplete, for this reason. The changes cannot
  // be applied.
  std::string omitted{};
};

// One entry of a run's overlay layer above a mount, where the kernel keeps the layer (engine
// native): something that the run wrote or removed. Only HostFiles can see the directory below, so
// it decides whether the entry is a change.
struct LayerEntry {
  enum class Kind : std::uint8_t { kFile, kDirectory, kRemoved };

  std::uint32_t mount = 0;
  std::string path{};  // Relative to the mount.
  Kind kind = Kind::kFile;
  bool copied = false;  // kFile: copied from the directory when the run first wrote to it.
  bool opaque = false;  // kDirectory: hides everything that the directory below contains.
  OutcomeFile file{};   // kFile.
};

struct Layer {
  std::vector<LayerEntry> entries{};
  // A file in the directories that has a later change time than this was changed during the run.
  std::chrono::system_clock::time_point since{};
  std::size_t max_files = 0;  // Maximum number of files that an outcome contains.
};

class HostFiles {
 public:
  template <typename T>
  using Done = std::move_only_function<void(std::expected<T, wire::FileError>)>;
  using SettleDone = std::move_only_function<void(Result<Outcome>)>;

  virtual ~HostFiles() = default;

  // Constant for the lifetime of this object. Requests name a mount by its position in this list.
  virtual std::span<const MountPoint> mounts() const = 0;

  // Lists the regular files and directories in a directory, at most wire::kMaxListed.
  virtual void List(std::uint32_t mount, std::string path, Done<std::vector<HostEntry>> done) = 0;
  // Reads a range of a file. Fewer bytes than requested: the file ends there.
  virtual void Read(std::uint32_t mount, HostRange range, Done<std::string> done) = 0;

  // Called when a run has ended with these changes. Removes entries that do not change any content
  // from both arguments. If the run completed, applies the changes below kReadWrite mounts, all or
  // none. If they cannot be applied, the outcome says why.
  virtual void Settle(std::vector<HostChange> changes, Outcome outcome, SettleDone done) = 0;

  // For engines whose cells reach the directories through the kernel. directory() returns the
  // directory of a mount, or null if there is none. directory_id() returns its identity at the time
  // when it was opened. SettleLayer() is Settle() for a layer; it adds the layer's files to the
  // outcome.
  virtual const UniqueFd* directory(std::uint32_t /*mount*/) const { return nullptr; }
  virtual std::optional<DirectoryId> directory_id(std::uint32_t /*mount*/) const {
    return std::nullopt;
  }
  virtual void SettleLayer(Layer /*layer*/, Outcome outcome, SettleDone done) {
    done(std::move(outcome));
  }
};

}  // namespace caisson
