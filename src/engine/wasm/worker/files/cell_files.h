// The files of one cell: its open descriptors and all operations on them, with POSIX semantics.
//
// 0, 1 and 2 are the standard streams, 3 is the root directory. 0 reads as empty. Data written to 1
// and 2 does not come here (see Describe). There are no links and no permissions, and reading does
// not update access times.
//
// Trust     Descriptors, paths, offsets, flags and saved bytes are hostile. Nothing here makes a
//           system call, and no call copies more than its buffers hold, or kSliceBytes.
// Threads   The worker's only thread.
// Lifetime  One per cell, reused: Start() ... Reset(). If the files are not used in between, the
//           pair costs nothing. The library and the services outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/wasm/worker/files/file_tree.h"
#include "engine/wasm/worker/files/file_types.h"
#include "engine/wasm/worker/files/wasi_errno.h"

namespace caisson::worker {

enum class Stream : std::uint8_t { kNone, kIn, kOut, kErr };
enum class Whence : std::uint8_t { kSet = 0, kCurrent = 1, kEnd = 2 };

struct OpenOptions {
  bool create = false;
  bool exclusive = false;
  bool truncate = false;
  bool directory = false;
  bool read = false;
  bool write = false;
  std::uint16_t flags = 0;  // WASI's fdflags; only append has an effect.
};

struct DescriptorInfo {
  FileType type = FileType::kRegular;
  Stream stream = Stream::kNone;
  bool read = false;
  bool write = false;
  bool preopened = false;  // The root, as opened at the start.
  std::uint16_t flags = 0;
};

class CellFiles {
 public:
  static constexpr std::uint32_t kRootDescriptor = 3;
  static constexpr std::uint16_t kAppend = 1;
  static constexpr std::uint16_t kKnownFlags = 0x1f;

  explicit CellFiles(FileServices& services);

  // Begins a run. Fails if the host's files cannot be laid out as requested; the run cannot start
  // then.
  Result<void> Start(LibraryImage library, std::vector<InputFile> inputs, const FileLimits& limits,
                     std::vector<Mount> mounts = {});
  // Removes everything that the run made or was given.
  void Reset();

  // Every call below may return kPending or kUnfinished. It has then changed nothing: see FileTree.
  const HostRequest& wanted() const { return tree_.wanted(); }
  std::string_view mount_path(std::uint32_t mount) const { return tree_.mount_path(mount); }
  bool Deliver(wire::FileError error, std::string_view bytes) {
    return tree_.Deliver(error, bytes);
  }

  Io<std::uint32_t> Open(std::uint32_t directory, std::string_view path,
                         const OpenOptions& options);
  Errno Close(std::uint32_t fd);
  // `to` becomes the descriptor that `from` was; both must be open.
  Errno Renumber(std::uint32_t from, std::uint32_t to);
  Io<DescriptorInfo> Describe(std::uint32_t fd);
  Errno SetFlags(std::uint32_t fd, std::uint16_t flags);

  // Both may transfer less than requested. The caller handles standard output and error: kBadf
  // here.
  Io<std::size_t> Read(std::uint32_t fd, std::span<std::uint8_t> out);
  Io<std::size_t> Write(std::uint32_t fd, std::span<const std::uint8_t> data);
  Io<std::size_t> ReadAt(std::uint32_t fd, std::uint64_t offset, std::span<std::uint8_t> out);
  Io<std::size_t> WriteAt(std::uint32_t fd, std::uint64_t offset,
                          std::span<const std::uint8_t> data);
  Io<std::uint64_t> Seek(std::uint32_t fd, std::int64_t offset, Whence whence);

  Io<FileStat> Stat(std::uint32_t fd);
  Io<FileStat> Stat(std::uint32_t directory, std::string_view path);
  Errno SetSize(std::uint32_t fd, std::uint64_t size);
  // Makes the file at least offset + length long.
  Errno Allocate(std::uint32_t fd, std::uint64_t offset, std::uint64_t length);
  // A time that is nullopt stays unchanged.
  Errno SetTimes(std::uint32_t fd, std::optional<std::uint64_t> accessed,
                 std::optional<std::uint64_t> modified);
  Errno SetTimes(std::uint32_t directory, std::string_view path,
                 std::optional<std::uint64_t> accessed, std::optional<std::uint64_t> modified);

  // Returns the entry of an open directory at `cookie` (0: the first). nullopt: the end.
  Io<std::optional<DirectoryEntry>> EntryAt(std::uint32_t fd, std::uint64_t cookie);

  Errno MakeDirectory(std::uint32_t directory, std::string_view path);
  Errno RemoveDirectory(std::uint32_t directory, std::string_view path);
  Errno Unlink(std::uint32_t directory, std::string_view path);
  Errno Rename(std::uint32_t old_directory, std::string_view old_path, std::uint32_t new_directory,
               std::string_view new_path);

  // Returns the differences below /output and the mounts to the files that the host provided.
  Capture Captured() const { return tree_.Captured(); }

  // Appends the writable files and the open descriptors to `out`.
  void Save(std::string& out) const;
  // Turns a started, unused cell into the saved one: same descriptors, offsets, inode numbers,
  // cookies. It must have been started with the same library and host files. After an error the
  // cell is as after Reset().
  Result<void> Restore(std::span<const std::uint8_t> saved);

 private:
  struct Descriptor {
    bool open = false;
    bool read = false;
    bool write = false;
    bool preopened = false;
    Stream stream = Stream::kNone;
    std::uint16_t flags = 0;
    Place place = {};
    std::uint64_t offset = 0;
  };

  void OpenStandard();
  Descriptor* Find(std::uint32_t fd);
  // Returns the descriptor of a file or device that is open for reading or writing.
  Io<Descriptor*> FindReadable(std::uint32_t fd);
  Io<Descriptor*> FindWritable(std::uint32_t fd);
  Io<Walked> Walk(std::uint32_t directory, std::string_view path);
  Io<Place> OpenPlace(std::uint32_t directory, std::string_view path, const OpenOptions& options);
  Io<Place> OpenExisting(const Walked& walked, const OpenOptions& options);
  Io<std::size_t> Transfer(const Descriptor& from, std::uint64_t offset,
                           std::span<std::uint8_t> out);
  Io<std::size_t> Transfer(const Descriptor& to, std::uint64_t offset,
                           std::span<const std::uint8_t> data);
  Io<std::uint32_t> Install(const Descriptor& descriptor);
  void Release(Descriptor& descriptor);
  bool MayChange(Place place) const;
  Device DeviceAt(Place place) const;
  Errno SetTimesAt(Place place, std::optional<std::uint64_t> accessed,
                   std::optional<std::uint64_t> modified);
  // Returns the writable directory that has, or would have, the last component.
  Io<NodeId> ChangeableParent(const Walked& walked) const;
  Result<void> RestoreDescriptors(ByteReader& in, const std::vector<NodeId>& nodes);
  Result<Descriptor> RestoreDescriptor(ByteReader& in, const std::vector<NodeId>& nodes);

  FileServices& services_;
  FileTree tree_;
  std::uint32_t max_descriptors_ = kRootDescriptor + 1;
  std::vector<Descriptor> descriptors_;
  bool dirty_ = false;  // The table differs from the state after OpenStandard().
};

}  // namespace caisson::worker
