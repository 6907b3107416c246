// The file tree of one cell: files in memory from the guest and the host, above the read-only
// library and the mounted directories of the host.
//
// A directory made for the host's files also shows the library's directory with the same path.
// /tmp, /output and everything below them belong to the guest. Everything else is read-only.
//
// Below a mount, a directory is listed when a walk first enters it, and its entries become nodes.
// The bytes of a file are fetched when they are read. These nodes can be changed like any other: a
// file is copied before its first change, and removed or replaced files are remembered for the
// capture. A call that needs the host returns kPending and has changed nothing. The caller then
// asks the host for wanted(), passes the answer to Deliver(), and repeats the call. A call that has
// to copy a file first copies a slice of it, returns kUnfinished and is repeated.
//
// Trust     Paths, names, offsets and sizes come from the guest. Quotas are checked before memory
//           is allocated.
// Threads   The worker's only thread.
// Lifetime  One per cell, used for one run after another; Reset() clears it between them. The fixed
//           part is built when a path is first walked, so a run without files pays nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/wasm/worker/files/file_types.h"
#include "engine/wasm/worker/files/host_request.h"
#include "engine/wasm/worker/files/library_image.h"
#include "engine/wasm/worker/files/save_format.h"
#include "engine/wasm/worker/files/wasi_errno.h"

namespace caisson::worker {

enum class NodeId : std::uint32_t { kRoot = 0, kTmp = 1, kOutput = 2, kNone = 0xffffffff };

enum class Device : std::uint8_t { kNone, kNull, kZero, kRandom };

// Entries by name and by order of creation. A cookie is a position in that order, so a listing
// neither repeats nor skips an entry that exists during the whole listing.
struct Directory {
  struct Entry {
    NodeId node;
    std::uint64_t order;
  };
  using Names = std::map<std::string, Entry, std::less<>>;

  Names names;
  std::map<std::uint64_t, Names::const_iterator> in_order;
  std::uint64_t next_order = 0;
};

// The host's file or directory that a node below a mount shows.
struct Original {
  std::string path;           // Relative to the mount.
  wire::FileVersion version;  // As listed.
  bool listed = false;        // A directory whose entries are all in the tree.
  // For a file: its end, and the bytes around the position that was last read.
  std::uint64_t end = 0;
  std::uint64_t window_offset = 0;
  std::vector<std::uint8_t> window;
};

struct Node {
  static constexpr std::uint32_t kNoInput = 0xffffffff;
  static constexpr std::uint32_t kNoMount = 0xffffffff;

  FileType type = FileType::kRegular;
  Device device = Device::kNone;
  bool writable = false;  // The guest may change the file, or the entries of the directory.
  bool linked = true;     // False once removed; the node then lives as long as it is open.
  std::uint32_t opens = 0;
  NodeId parent = NodeId::kNone;
  LibraryIndex library = LibraryIndex::kNone;  // The library directory that is also visible here.
  std::uint32_t input = kNoInput;              // Index of the host file that this is, unchanged.
  std::uint32_t mount = kNoMount;              // The mount that it is below, or is.
  std::unique_ptr<Original> original;          // Null: the guest made or changed it.
  std::uint64_t inode = 0;
  std::uint64_t accessed = 0;
  std::uint64_t modified = 0;
  std::uint64_t changed = 0;
  Directory entries;
  FileContents contents;
};

// A node or, if it exists only in the library, its entry there. May be empty.
struct Place {
  NodeId node = NodeId::kNone;
  LibraryIndex entry = LibraryIndex::kNone;

  bool empty() const { return node == NodeId::kNone && entry == LibraryIndex::kNone; }
  bool operator==(const Place&) const = default;
};

// The result of walking a path.
struct Walked {
  Place place;                     // Empty if the last component does not exist.
  Place parent;                    // The directory that has, or would have, the last component.
  std::string_view name;           // The last component; empty for ".", ".." and the root.
  bool must_be_directory = false;  // The path ends in a slash.
};

class FileTree {
 public:
  static constexpr std::uint32_t kNoNumber = 0xffffffff;

  // Gives the tree its library and the host's files. Fails if a path is not absolute and
  // normalised, or if two paths exclude each other.
  Result<void> Start(LibraryImage library, std::vector<InputFile> inputs, std::vector<Mount> mounts,
                     const FileLimits& limits);
  void Reset();

  std::string_view mount_path(std::uint32_t mount) const { return mounts_[mount].mount.path; }

  // The request that the last call with result kPending waits for.
  const HostRequest& wanted() const { return wanted_; }
  // Takes the answer, in the format of wire::FileAnswerHeader. Returns false if it is invalid.
  bool Deliver(wire::FileError error, std::string_view bytes);

  // Follows `path` from `start`. "." and ".." have their usual meaning; ".." of the root is the
  // root.
  Io<Walked> Walk(Place start, std::string_view path);

  // A place other than the root comes from a walk, which builds the tree. The root exists before.
  const Node& node(NodeId id) const { return *nodes_[static_cast<std::uint32_t>(id)]; }
  bool IsDirectory(Place place) const;
  FileStat Stat(Place place);
  Io<std::size_t> Read(Place place, std::uint64_t offset, std::span<std::uint8_t> out);

  // Returns kSuccess once all entries of a directory are in the tree.
  Errno EnsureListed(Place directory);
  // Returns the entry of `directory` at `cookie` (0: the start). nullopt: the end. Precondition:
  // EnsureListed.
  std::optional<DirectoryEntry> EntryAt(Place directory, std::uint64_t cookie);

  // The functions below change the tree. Preconditions: the node and the directory are writable,
  // and `name` is free (Create, Move) or taken (Remove).
  Io<NodeId> Create(NodeId directory, std::string_view name, FileType type, std::uint64_t now);
  void Remove(NodeId directory, std::string_view name, std::uint64_t now);
  // Prepares a Move. Returns kXdev for a directory of the host, because all its contents would have
  // to be copied.
  Errno MakeMovable(NodeId id, NodeId to, std::string_view new_name);
  void Move(NodeId from, std::string_view old_name, NodeId to, std::string_view new_name,
            std::uint64_t now);

  // Writes as much as the quotas allow, at least one byte, or returns the error of the quota that
  // is used up.
  Io<std::size_t> Write(NodeId file, std::uint64_t offset, std::span<const std::uint8_t> data,
                        std::uint64_t now);
  Errno Resize(NodeId file, std::uint64_t size, std::uint64_t now);

  void SetTimes(NodeId id, std::optional<std::uint64_t> accessed,
                std::optional<std::uint64_t> modified, std::uint64_t now);

  // Returns whether `node` is `ancestor` or inside it.
  bool IsBelow(NodeId node, NodeId ancestor) const;

  // An open node stays when its name is removed.
  void Hold(NodeId id);
  void Release(NodeId id);

  // Returns the differences below /output to the files of the host, and below the mounts to the
  // files that the run found.
  Capture Captured() const;

  // Save and Restore handle the writable part and the mounts. Save returns each node's number in
  // the blob (kNoNumber: it is not in it). Restore returns the nodes in that order; unlinked nodes
  // among them are dropped by the Release that follows the last Hold. Restore needs a started,
  // clean tree and leaves it in any state after an error.
  std::vector<std::uint32_t> Save(ByteWriter& out) const;
  Result<std::vector<NodeId>> Restore(ByteReader& in);

  // Returns the path of a place outside the writable part; only the path of it is saved.
  std::string PathOf(Place place) const;

 private:
  Node& Mutable(NodeId id) { return *nodes_[static_cast<std::uint32_t>(id)]; }
  void Build();
  NodeId NewNode(FileType type, std::uint64_t time);
  void FreeNode(NodeId id);
  void Link(NodeId directory, std::string_view name, NodeId child, std::uint64_t order);
  void Unlink(NodeId directory, std::string_view name);
  NodeId AddFixed(NodeId directory, std::string_view name, FileType type);
  Result<void> AddInput(std::uint32_t index);
  Place Child(Place directory, std::string_view name) const;
  Place Parent(Place directory) const;
  LibraryIndex FindStraight(Place directory, std::string_view name, std::string_view rest) const;
  LibraryIndex FindInLibrary(LibraryIndex directory, std::string_view name) const;
  std::string_view LibraryPath(LibraryIndex index) const;
  Place PlaceAt(std::string_view path) const;
  Errno MakePrivate(NodeId id);
  Errno MayGrow(const Node& file, std::uint64_t size) const;
  std::uint64_t Room(const Node& file) const;
  std::uint64_t MaxFileBytes(const Node& file) const;
  void Charge(const Node& file, std::uint64_t before, std::uint64_t after);
  Errno MayName(NodeId directory, std::string_view name) const;

  Result<void> AddMount(std::uint32_t index);
  Errno Ask(NodeId asker, HostRequest request);
  bool DeliverListing(std::string_view bytes);
  bool AddListed(NodeId directory, const wire::ListedHeader& header, std::string_view name);
  bool DeliverBytes(std::span<const std::uint8_t> bytes);
  Io<std::size_t> ReadOriginal(NodeId id, std::uint64_t offset, std::span<std::uint8_t> out);
  void DropWindow(NodeId id);
  Errno CopyUp(NodeId id);
  Errno Detach(NodeId id);
  void Remember(const Node& gone);
  NodeId FindBelow(NodeId directory, std::string_view path) const;
  void CaptureGiven(Capture& capture) const;
  void CaptureMount(std::uint32_t index, Capture& capture) const;

  std::vector<NodeId> SavedRoots() const;
  void SaveMounts(ByteWriter& out) const;
  Result<void> RestoreMounts(ByteReader& in);
  void SaveNode(const Node& node, ByteWriter& out) const;
  void RestoreCommon(ByteReader& in, Node& node) const;
  void SaveFile(const Node& file, ByteWriter& out) const;
  Result<NodeId> RestoreNode(ByteReader& in, const std::vector<NodeId>& earlier);
  bool RestoreFile(ByteReader& in, Node& file);

  LibraryImage library_;
  std::vector<InputFile> inputs_;
  FileLimits limits_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<NodeId> free_nodes_;
  std::uint64_t next_inode_ = 0;
  std::uint64_t used_bytes_ = 0;
  std::uint32_t used_inodes_ = 0;

  // Files of the host that the guest removed or replaced.
  struct Gone {
    wire::FileVersion version;
    FileType type;
  };
  struct Mounted {
    Mount mount;
    NodeId root = NodeId::kNone;
    std::uint64_t used_bytes = 0;
    std::map<std::string, Gone, std::less<>> gone;  // By path, relative to the mount.
  };
  std::vector<Mounted> mounts_;
  std::uint32_t listed_ = 0;  // Total number of nodes made from listings.
  HostRequest wanted_;
  NodeId asker_ = NodeId::kNone;
  Errno refused_ = Errno::kSuccess;  // The host's error for `wanted_`, until it is asked again.
  std::vector<NodeId> windows_;      // Files with buffered bytes, oldest first.

  // There are nodes beyond the fixed part, or a descriptor refers to the writable part.
  bool dirty_ = false;
  mutable std::string joined_;  // Scratch for library lookups.
};

}  // namespace caisson::worker
