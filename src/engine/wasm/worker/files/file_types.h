// Plain values that describe a cell's files.
//
// Trust     Values. Code that fills them from guest bytes must check those first.
// Threads   Any.
// Lifetime  Values; views state what they refer to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wasm/worker/files/file_contents.h"
#include "wire/frames.h"

namespace caisson::worker {

// The numbers that WASI uses.
enum class FileType : std::uint8_t { kDevice = 2, kDirectory = 3, kRegular = 4 };

struct FileStat {
  std::uint64_t inode = 0;  // Constant for a file during the life of the cell, also across saves.
  FileType type = FileType::kRegular;
  std::uint64_t links = 1;
  std::uint64_t size = 0;
  // Nanoseconds since 1970.
  std::uint64_t accessed = 0;
  std::uint64_t modified = 0;
  std::uint64_t changed = 0;
};

struct DirectoryEntry {
  std::string_view name;  // Valid until the directory changes.
  std::uint64_t inode = 0;
  FileType type = FileType::kRegular;
  std::uint64_t next_cookie = 0;
};

// Maximum number of bytes that one slice of a long call copies: about a tenth of a millisecond of
// work.
inline constexpr std::uint64_t kSliceBytes = std::uint64_t{256} << 10;

// The times of all files that the guest did not touch: the library, the host's files, the fixed
// directories.
inline constexpr std::uint64_t kUntouchedTime = 1'700'000'000'000'000'000;

// The limits of one cell. A reached limit is an error for the guest: kFbig, kNospc, kNospc, kMfile.
struct FileLimits {
  std::uint64_t file_bytes = std::uint64_t{32} << 20;
  // All files, including gaps and unlinked files.
  std::uint64_t total_bytes = std::uint64_t{64} << 20;
  // Files and directories below /tmp and /output, including removed ones that are still open.
  std::uint32_t inodes = 4096;
  std::uint32_t open_files = 64;  // In addition to 0, 1, 2 and the root.
  // One file below a mount. Not more than can be captured, or its change would be lost.
  std::uint64_t mount_file_bytes = std::uint64_t{5} << 20;
};

// A file that the host gives to a cell. Below /tmp and /output the cell may change its own copy;
// elsewhere it is read-only.
struct InputFile {
  std::string path;                             // Absolute and normal: "/input/a.csv".
  std::shared_ptr<const std::string> contents;  // Owned together with the creator of the list.
};

// Services that the files need from the code that runs the cell.
class FileServices {
 public:
  virtual ~FileServices() = default;

  // The cell's time of day in nanoseconds since 1970.
  virtual std::uint64_t Now() = 0;
  virtual void Random(std::span<std::uint8_t> out) = 0;
};

struct CapturedFile {
  enum class Change : std::uint8_t { kCreated, kModified, kDeleted };

  std::string path;  // Absolute.
  Change change = Change::kCreated;
  std::uint64_t size = 0;
  std::uint32_t mode = 0644;  // WASI cannot change permissions.
  // Null for a deleted file and for a directory. Valid until the cell's files change.
  const FileContents* contents = nullptr;
  std::optional<std::uint32_t> mount{};  // The mount that it is below. nullopt: /output.
  bool directory = false;                // Below mounts only: the directory was made or removed.
  wire::FileVersion seen{};              // Below mounts only: the previous version.
};

struct Capture {
  std::vector<CapturedFile> files;  // In path order.
  // Some files below /output or a mount are missing because their paths are longer than 4096 bytes.
  bool incomplete = false;
  bool mounts_incomplete = false;
};

}  // namespace caisson::worker
