// The part of the tree that belongs to the host: listing, reading, and copying before the first
// change.

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/wasm/worker/files/file_tree.h"
#include "engine/wasm/worker/files/path.h"

namespace caisson::worker {
namespace {

// Size of the first read of a file, and of a read that does not continue the last one.
constexpr std::uint32_t kFirstReadBytes = 64 << 10;
// Number of files with buffered bytes: enough for code that reads several in parallel.
constexpr std::size_t kMaxWindows = 32;

Errno ErrnoOf(wire::FileError error) {
  switch (error) {
    case wire::FileError::kNone:
      return Errno::kSuccess;
    case wire::FileError::kGone:
      return Errno::kNoent;
    case wire::FileError::kChanged:
      return Errno::kStale;
    case wire::FileError::kDenied:
      return Errno::kAcces;
    case wire::FileError::kTooMany:
      return Errno::kOverflow;
    case wire::FileError::kFailed:
      break;
  }
  return Errno::kIo;
}

Error BadMount(const Mount& mount, std::string_view why) {
  return {ErrorCode::kInvalidArgument, "cannot mount at " + mount.path + ": " + std::string(why)};
}

}  // namespace

Result<void> FileTree::AddMount(std::uint32_t index) {
  Mounted& mounted = mounts_[index];
  dirty_ = true;
  std::string_view rest = mounted.mount.path;
  if (!rest.starts_with('/') || rest.size() > kMaxPathBytes) {
    return BadMount(mounted.mount, "the path is not absolute");
  }
  rest.remove_prefix(1);
  NodeId directory = NodeId::kRoot;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (!IsEntryName(name)) return BadMount(mounted.mount, "the path is not normal");
    if (FindInLibrary(node(directory).library, name) != LibraryIndex::kNone) {
      return BadMount(mounted.mount, "the library is there");
    }
    const auto found = node(directory).entries.names.find(name);
    directory = found == node(directory).entries.names.end()
                    ? AddFixed(directory, name, FileType::kDirectory)
                    : found->second.node;
    const bool last = slash == std::string_view::npos;
    const Node& here = node(directory);
    const bool free =
        here.mount == Node::kNoMount && here.type == FileType::kDirectory &&
        (last ? here.entries.names.empty() && directory != NodeId::kTmp : !here.writable);
    if (!free) return BadMount(mounted.mount, "something else is there");
    if (last) break;
    rest.remove_prefix(slash + 1);
  }
  mounted.root = directory;
  Node& root = Mutable(directory);
  root.mount = index;
  root.writable = mounted.mount.writable;
  root.original = std::make_unique<Original>();
  return {};
}

// ---- Asking ----

Errno FileTree::Ask(NodeId asker, HostRequest request) {
  if (refused_ != Errno::kSuccess) return std::exchange(refused_, Errno::kSuccess);
  wanted_ = std::move(request);
  asker_ = asker;
  return Errno::kPending;
}

bool FileTree::Deliver(wire::FileError error, std::string_view bytes) {
  refused_ = ErrnoOf(error);
  if (refused_ == Errno::kSuccess) {
    return wanted_.kind == HostRequest::Kind::kList
               ? DeliverListing(bytes)
               : DeliverBytes({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  // A copy that cannot be completed is dropped.
  if (Node& asker = Mutable(asker_); wanted_.kind == HostRequest::Kind::kRead && asker.original) {
    Charge(asker, asker.contents.size(), 0);
    asker.contents.Clear();
  }
  return true;
}

// ---- Directories ----

Errno FileTree::EnsureListed(Place directory) {
  if (directory.node == NodeId::kNone || directory.node == NodeId::kRoot) return Errno::kSuccess;
  const Node& here = node(directory.node);
  if (!here.original || here.original->listed) return Errno::kSuccess;
  return Ask(directory.node, {.kind = HostRequest::Kind::kList,
                              .mount = here.mount,
                              .path = here.original->path,
                              .version = {}});
}

bool FileTree::DeliverListing(std::string_view bytes) {
  std::uint32_t count = 0;
  for (std::string_view rest = bytes; !rest.empty(); ++count) {
    wire::ListedHeader header;
    if (rest.size() < sizeof header) return false;
    std::memcpy(&header, rest.data(), sizeof header);
    rest.remove_prefix(sizeof header);
    if (rest.size() < header.name_length || header.directory > 1) return false;
    rest.remove_prefix(header.name_length);
  }
  if (count > wire::kMaxListed - listed_) {
    refused_ = Errno::kOverflow;
    return true;
  }
  for (std::string_view rest = bytes; !rest.empty();) {
    wire::ListedHeader header;
    std::memcpy(&header, rest.data(), sizeof header);
    rest.remove_prefix(sizeof header);
    if (!AddListed(asker_, header, rest.substr(0, header.name_length))) return false;
    rest.remove_prefix(header.name_length);
  }
  Mutable(asker_).original->listed = true;
  return true;
}

bool FileTree::AddListed(NodeId directory, const wire::ListedHeader& header,
                         std::string_view name) {
  const Node& parent = node(directory);
  if (!IsEntryName(name) || parent.entries.names.contains(name)) return false;
  const NodeId id = NewNode(header.directory != 0 ? FileType::kDirectory : FileType::kRegular,
                            header.version.modified_ns);
  Link(directory, name, id, parent.entries.next_order);
  ++listed_;
  Node& made = Mutable(id);
  made.mount = parent.mount;
  made.writable = parent.writable;
  made.original = std::make_unique<Original>();
  const std::string& above = parent.original->path;
  made.original->path = above.empty() ? std::string(name) : above + '/' + std::string(name);
  made.original->version = header.version;
  made.original->end = header.version.size;
  return true;
}

// ---- Bytes ----

// Reads as much as one request can fetch, and never less because of where the last one ended: the
// result of a read depends only on its offset, before and after the cell was saved.
Io<std::size_t> FileTree::ReadOriginal(NodeId id, std::uint64_t offset,
                                       std::span<std::uint8_t> out) {
  const Original& file = *node(id).original;
  if (offset >= file.end || out.empty()) return 0;
  const std::uint64_t length =
      std::min({std::uint64_t{out.size()}, file.end - offset, std::uint64_t{wire::kMaxReadBytes}});
  const std::uint64_t window_end = file.window_offset + file.window.size();
  if (offset < file.window_offset || offset + length > window_end) {
    const bool goes_on = offset > file.window_offset && offset <= window_end;
    const std::uint64_t fetched =
        std::max<std::uint64_t>(length, goes_on ? wire::kMaxReadBytes : kFirstReadBytes);
    return std::unexpected(
        Ask(id, {.kind = HostRequest::Kind::kRead,
                 .mount = node(id).mount,
                 .path = file.path,
                 .version = file.version,
                 .offset = offset,
                 .length = static_cast<std::uint32_t>(std::min(fetched, file.end - offset))}));
  }
  std::memcpy(out.data(), file.window.data() + (offset - file.window_offset),
              static_cast<std::size_t>(length));
  return static_cast<std::size_t>(length);
}

bool FileTree::DeliverBytes(std::span<const std::uint8_t> bytes) {
  Node& file = Mutable(asker_);
  if (bytes.size() > wanted_.length || !file.original) return false;
  if (wanted_.exact) {
    // Part of a copy. An exact read has the listed size, so there is always more.
    if (bytes.empty() || wanted_.offset != file.contents.size()) return false;
    file.contents.Write(wanted_.offset, bytes);
    Charge(file, 0, bytes.size());
    return true;
  }
  DropWindow(asker_);
  if (windows_.size() == kMaxWindows) DropWindow(windows_.front());
  windows_.push_back(asker_);
  file.original->window_offset = wanted_.offset;
  file.original->window.assign(bytes.begin(), bytes.end());
  if (bytes.size() < wanted_.length) file.original->end = wanted_.offset + bytes.size();
  return true;
}

void FileTree::DropWindow(NodeId id) {
  if (std::erase(windows_, id) == 0) return;
  if (Node& file = Mutable(id); file.original) {
    file.original->window.clear();
    file.original->window.shrink_to_fit();
    file.original->window_offset = 0;
  }
}

// ---- Changing ----

// The file now belongs to the guest, empty or with the copy.
Errno FileTree::Detach(NodeId id) {
  if (used_inodes_ >= limits_.inodes) return Errno::kNospc;
  ++used_inodes_;
  DropWindow(id);
  Node& file = Mutable(id);
  if (file.linked) Remember(file);
  file.original.reset();
  return Errno::kSuccess;
}

Errno FileTree::CopyUp(NodeId id) {
  const Node& file = node(id);
  const Original& original = *file.original;
  const std::uint64_t copied = file.contents.size();
  if (copied == original.version.size) return Detach(id);
  if (used_inodes_ >= limits_.inodes) return Errno::kNospc;
  if (const Errno full = MayGrow(file, original.version.size); full != Errno::kSuccess) return full;
  return Ask(id, {.kind = HostRequest::Kind::kRead,
                  .mount = file.mount,
                  .path = original.path,
                  .version = original.version,
                  .offset = copied,
                  .length = static_cast<std::uint32_t>(
                      std::min<std::uint64_t>(wire::kMaxReadBytes, original.version.size - copied)),
                  .exact = true});
}

void FileTree::Remember(const Node& gone) {
  mounts_[gone.mount].gone.emplace(gone.original->path,
                                   Gone{.version = gone.original->version, .type = gone.type});
}

Errno FileTree::MakeMovable(NodeId id, NodeId to, std::string_view new_name) {
  if (const Errno bad = MayName(to, new_name); bad != Errno::kSuccess) return bad;
  const Node& moved = node(id);
  if (!moved.original) return Errno::kSuccess;
  return moved.type == FileType::kDirectory ? Errno::kXdev : CopyUp(id);
}

Errno FileTree::MayName(NodeId directory, std::string_view name) const {
  const Node& parent = node(directory);
  if (parent.mount == Node::kNoMount) return Errno::kSuccess;
  const NodeId root = mounts_[parent.mount].root;
  if (directory == root && name.starts_with(kReservedPrefix)) return Errno::kAcces;
  int depth = 0;
  for (NodeId id = directory; id != root; id = node(id).parent) {
    if (++depth >= wire::kMaxMountDepth) return Errno::kNametoolong;
  }
  return Errno::kSuccess;
}

}  // namespace caisson::worker
