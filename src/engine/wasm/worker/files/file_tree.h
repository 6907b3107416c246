// The tree of one cell: what the guest and the host put there in memory, over the read-only
// library and the host's directories that are mounted.
//
// A directory made for the host's files also shows the library's directory of the same path; /tmp,
// /output and all that is below them belong to the guest; everything else can only be read.
//
// Below a mount, a directory is listed when a walk first enters it, and its entries become nodes; a
// file's bytes are fetched where they are read. What is there can be changed like any other node: a
// file is copied before it is, and what was removed or replaced is remembered for the capture. A call
// that needs the host answers kPending and has changed nothing: wanted() is to be asked, Deliver()
// takes the answer, and the call is made again. A call that has to copy a file first copies a slice of
// it, answers kUnfinished and is made again.
//
// Trust     Paths, names, offsets and sizes are the guest's. Quotas are checked before memory is
//           taken.
// Threads   The worker's one thread.
// Lifetime  One per cell, used for one run after another; Reset() forgets everything between them.
//           The fixed part is built when a path is first walked, so a run without files pays
//           nothing.
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

// Entries by name, and by the order in which they came: cookies name a position in that order, so a
// listing neither repeats nor skips what was there all the time.
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
  wire::FileVersion version;  // As it was listed.
  bool listed = false;        // A directory whose entries are in the tree.
  // A file: where it ends, and the bytes around where it was last read.
  std::uint64_t end = 0;
  std::uint64_t window_offset = 0;
  std::vector<std::uint8_t> window;
};

struct Node {
  static constexpr std::uint32_t kNoInput = 0xffffffff;
  static constexpr std::uint32_t kNoMount = 0xffffffff;

  FileType type = FileType::kRegular;
  Device device = Device::kNone;
  bool writable = false;  // The guest may change it, or, for a directory, what is in it.
  bool linked = true;     // False once removed; then it lives as long as it is open.
  std::uint32_t opens = 0;
  NodeId parent = NodeId::kNone;
  LibraryIndex library = LibraryIndex::kNone;  // The library's directory that shows through.
  std::uint32_t input = kNoInput;              // Which of the host's files this is, unchanged.
  std::uint32_t mount = kNoMount;              // Which mount it is below, or is.
  std::unique_ptr<Original> original;          // Null: the guest made it, or changed it.
  std::uint64_t inode = 0;
  std::uint64_t accessed = 0;
  std::uint64_t modified = 0;
  std::uint64_t changed = 0;
  Directory entries;
  FileContents contents;
};

// A node or, if it is only in the library, its entry there. Empty: nothing.
struct Place {
  NodeId node = NodeId::kNone;
  LibraryIndex entry = LibraryIndex::kNone;

  bool empty() const { return node == NodeId::kNone && entry == LibraryIndex::kNone; }
  bool operator==(const Place&) const = default;
};

// Where a path leads.
struct Walked {
  Place place;                     // Empty if the last component does not exist.
  Place parent;                    // The directory that has, or would have, the last component.
  std::string_view name;           // The last component; empty if that is ".", ".." or the root.
  bool must_be_directory = false;  // The path ends in a slash.
};

class FileTree {
 public:
  static constexpr std::uint32_t kNoNumber = 0xffffffff;

  // Gives the tree its library and the host's files. Error: a path that is not absolute and normal,
  // or two that cannot both be.
  Result<void> Start(LibraryImage library, std::vector<InputFile> inputs, std::vector<Mount> mounts,
                     const FileLimits& limits);
  void Reset();

  std::string_view mount_path(std::uint32_t mount) const { return mounts_[mount].mount.path; }

  // What the last call that answered kPending waits for.
  const HostRequest& wanted() const { return wanted_; }
  // Takes the answer to it, as wire::FileAnswerHeader has it. False: it makes no sense.
  bool Deliver(wire::FileError error, std::string_view bytes);

  // Follows `path` from `start`. "." and ".." mean what they mean elsewhere, and ".." of the root
  // is the root.
  Io<Walked> Walk(Place start, std::string_view path);

  // Any place but the root comes from a walk, which builds the tree; the root is known before.
  const Node& node(NodeId id) const { return *nodes_[static_cast<std::uint32_t>(id)]; }
  bool IsDirectory(Place place) const;
  FileStat Stat(Place place);
  Io<std::size_t> Read(Place place, std::uint64_t offset, std::span<std::uint8_t> out);

  // kSuccess once all entries of a directory are in the tree.
  Errno EnsureListed(Place directory);
  // The entry of `directory` at `cookie` (0 is the start), or nothing at the end. Precondition:
  // EnsureListed.
  std::optional<DirectoryEntry> EntryAt(Place directory, std::uint64_t cookie);

  // The rest changes the tree. Preconditions: the node and the directory are writable, `name` is
  // free (Create, Move) or taken (Remove).
  Io<NodeId> Create(NodeId directory, std::string_view name, FileType type, std::uint64_t now);
  void Remove(NodeId directory, std::string_view name, std::uint64_t now);
  // Prepares a Move: kXdev for a directory of the host, whose contents would all have to be copied.
  Errno MakeMovable(NodeId id, NodeId to, std::string_view new_name);
  void Move(NodeId from, std::string_view old_name, NodeId to, std::string_view new_name,
            std::uint64_t now);

  // Writes as much as the quotas allow, at least one byte, or says which one stands against it.
  Io<std::size_t> Write(NodeId file, std::uint64_t offset, std::span<const std::uint8_t> data,
                        std::uint64_t now);
  Errno Resize(NodeId file, std::uint64_t size, std::uint64_t now);

  void SetTimes(NodeId id, std::optional<std::uint64_t> accessed,
                std::optional<std::uint64_t> modified, std::uint64_t now);

  // Whether `node` is `ancestor` or inside it.
  bool IsBelow(NodeId node, NodeId ancestor) const;

  // An open node outlives its name.
  void Hold(NodeId id);
  void Release(NodeId id);

  // What differs below /output from what the host gave, and below the mounts from what the run found.
  Capture Captured() const;

  // The writable part and the mounts. Save returns each node's number in the blob (kNoNumber: it is
  // not in it), Restore the nodes in that
  // order; unlinked ones among them are dropped by the Release that follows the last Hold. Restore
  // needs a started, clean tree and leaves it in any state on error.
  std::vector<std::uint32_t> Save(ByteWriter& out) const;
  Result<std::vector<NodeId>> Restore(ByteReader& in);

  // The path of a place outside the writable part: what is saved of it.
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

  // What the guest removed or replaced of what the host has.
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
  std::uint32_t listed_ = 0;  // Nodes made of listings, in all.
  HostRequest wanted_;
  NodeId asker_ = NodeId::kNone;
  Errno refused_ = Errno::kSuccess;  // What the host said to `wanted_`, until it is asked again.
  std::vector<NodeId> windows_;      // Files with bytes kept, oldest first.

  // Something is there beyond the fixed part, or a descriptor leads into the writable part.
  bool dirty_ = false;
  mutable std::string joined_;  // Scratch for library lookups.
};

}  // namespace caisson::worker
