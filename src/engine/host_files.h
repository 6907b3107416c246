// HostFiles is what one cell sees of the host's directories (its mounts), and what becomes of the
// changes its runs make there.
//
// Trust     Paths, offsets and changes come from a cell and are hostile: implementations resolve every
//           path beneath its mount, without links (I11). Names and contents go to the cell as they are.
// Threads   Called on the cell's lane; no call blocks. Answers come on any thread, once each.
// Lifetime  One per cell, shared with the answers under way. The threads that answer are gone before the
//           engine is.
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
  kReadWrite,  // Changes are applied to the host's directory when a run has completed.
  kOverlay,    // Changes are the run's own, and part of its outcome only.
};

struct MountPoint {
  std::string guest_path;  // Absolute and normal: "/data".
  MountMode mode = MountMode::kReadOnly;
  std::uint64_t write_bytes_limit = 0;  // What a cell may write below it; 0: no limit of its own.

  bool operator==(const MountPoint&) const = default;
};

// Which directory it is, and whose. As long as one of two is open, equal ones are the same.
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
  bool exact = false;  // Only if the version is still this one, not merely the inode.
};

enum class FileChange : std::uint8_t { kCreated, kModified, kDeleted };

// What a run did to one path below a mount.
struct HostChange {
  static constexpr std::size_t kNoFile = SIZE_MAX;

  std::uint32_t mount = 0;
  std::string path{};  // Relative to the mount.
  FileChange change = FileChange::kCreated;
  wire::FileVersion seen{};    // What was there when the run looked.
  std::size_t file = kNoFile;  // Which of the outcome's files it is; a directory is none.
  // Not empty: what the run did is not all here, and why. Its changes cannot be applied.
  std::string omitted{};
};

// One entry of a run's layer over a mount, where the layer is the kernel's (engine native): what the run wrote, or
// that it removed something. Whether that was a change is for HostFiles to say, who can look at the directory.
struct LayerEntry {
  enum class Kind : std::uint8_t { kFile, kDirectory, kRemoved };

  std::uint32_t mount = 0;
  std::string path{};  // Relative to the mount.
  Kind kind = Kind::kFile;
  bool copied = false;  // kFile: was copied from the directory when the run first wrote to it.
  bool opaque = false;  // kDirectory: nothing of the directory's is seen in it any more.
  OutcomeFile file{};   // kFile.
};

struct Layer {
  std::vector<LayerEntry> entries{};
  // What lies in the directories now and was changed later than this was changed during the run.
  std::chrono::system_clock::time_point since{};
  std::size_t max_files = 0;  // More are not put into an outcome.
};

class HostFiles {
 public:
  template <typename T>
  using Done = std::move_only_function<void(std::expected<T, wire::FileError>)>;
  using SettleDone = std::move_only_function<void(Result<Outcome>)>;

  virtual ~HostFiles() = default;

  // The same for as long as it lives; requests name a mount by its position here.
  virtual std::span<const MountPoint> mounts() const = 0;

  // The regular files and directories in a directory, at most wire::kMaxListed.
  virtual void List(std::uint32_t mount, std::string path, Done<std::vector<HostEntry>> done) = 0;
  // Fewer bytes than asked for: the file ends there.
  virtual void Read(std::uint32_t mount, HostRange range, Done<std::string> done) = 0;

  // A run has ended with these changes. Drops from both what is no change of content and, if the run
  // completed, applies what is below kReadWrite mounts, all or nothing; if that cannot be done, the
  // outcome says why.
  virtual void Settle(std::vector<HostChange> changes, Outcome outcome, SettleDone done) = 0;

  // For engines whose cells reach the directories through the kernel: a mount's directory, or null if there is
  // no such thing; what it was when it was opened; and Settle() from a layer. The outcome gets the layer's files.
  virtual const UniqueFd* directory(std::uint32_t /*mount*/) const { return nullptr; }
  virtual std::optional<DirectoryId> directory_id(std::uint32_t /*mount*/) const {
    return std::nullopt;
  }
  virtual void SettleLayer(Layer /*layer*/, Outcome outcome, SettleDone done) {
    done(std::move(outcome));
  }
};

}  // namespace caisson
