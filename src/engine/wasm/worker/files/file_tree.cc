#include "engine/wasm/worker/files/file_tree.h"

#include <algorithm>
#include <utility>

#include "engine/wasm/worker/files/path.h"

namespace caisson::worker {
namespace {

// Root, tmp, output, input, dev and the entries of dev: the same for every cell, so kept from run
// to run.
constexpr std::size_t kFixedNodes = 9;

// Longer paths are followed step by step.
constexpr std::size_t kMaxStraightBytes = 256;

// Inode numbers of library entries start here, above those of the tree.
constexpr std::uint64_t kLibraryInodes = std::uint64_t{1} << 48;

// Cookies: 0 and 1 are "." and "..", 2 + order is an entry of the tree, higher ones belong to the
// library.
constexpr std::uint64_t kTreeCookies = 2;
constexpr std::uint64_t kLibraryCookies = std::uint64_t{1} << 62;

std::string_view LastComponent(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Error BadInput(std::string_view path) {
  return {ErrorCode::kInvalidArgument, "bad path for an input file: " + std::string(path)};
}

}  // namespace

// ---- Building and forgetting ----

Result<void> FileTree::Start(LibraryImage library, std::vector<InputFile> inputs,
                             std::vector<Mount> mounts, const FileLimits& limits) {
  Reset();
  library_ = library;
  limits_ = limits;
  inputs_ = std::move(inputs);
  if (inputs_.empty() && mounts.empty()) return {};
  Build();
  for (Mount& mount : mounts) mounts_.push_back({.mount = std::move(mount), .gone = {}});
  for (std::uint32_t i = 0; i < mounts_.size(); ++i) TRY(AddMount(i));
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) TRY(AddInput(i));
  if (used_inodes_ > limits_.inodes) {
    return Error(ErrorCode::kResourceExhausted, "more input files than the cell may have");
  }
  return {};
}

void FileTree::Reset() {
  if (!dirty_) return;
  dirty_ = false;
  // The host's files and mounts are among the fixed nodes. Without any, those nodes are unchanged
  // except for two directories.
  nodes_.resize(inputs_.empty() && mounts_.empty() ? kFixedNodes : 0);
  if (!nodes_.empty()) {
    for (const NodeId id : {NodeId::kTmp, NodeId::kOutput}) {
      Node& directory = Mutable(id);
      directory.entries = {};
      directory.accessed = directory.modified = directory.changed = kUntouchedTime;
    }
  }
  inputs_.clear();
  mounts_.clear();
  listed_ = 0;
  refused_ = Errno::kSuccess;
  windows_.clear();
  free_nodes_.clear();
  next_inode_ = kFixedNodes + 1;
  used_bytes_ = 0;
  used_inodes_ = 0;
}

void FileTree::Build() {
  if (!nodes_.empty()) return;
  next_inode_ = 1;
  NewNode(FileType::kDirectory, kUntouchedTime);
  Mutable(NodeId::kRoot).parent = NodeId::kRoot;
  Mutable(NodeId::kRoot).library = LibraryIndex::kRoot;
  Mutable(AddFixed(NodeId::kRoot, "tmp", FileType::kDirectory)).writable = true;
  Mutable(AddFixed(NodeId::kRoot, "output", FileType::kDirectory)).writable = true;
  AddFixed(NodeId::kRoot, "input", FileType::kDirectory);
  const NodeId dev = AddFixed(NodeId::kRoot, "dev", FileType::kDirectory);
  Mutable(AddFixed(dev, "null", FileType::kDevice)).device = Device::kNull;
  Mutable(AddFixed(dev, "zero", FileType::kDevice)).device = Device::kZero;
  Mutable(AddFixed(dev, "random", FileType::kDevice)).device = Device::kRandom;
  Mutable(AddFixed(dev, "urandom", FileType::kDevice)).device = Device::kRandom;
}

NodeId FileTree::NewNode(FileType type, std::uint64_t time) {
  NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  if (free_nodes_.empty()) {
    nodes_.push_back(std::make_unique<Node>());
  } else {
    id = free_nodes_.back();
    free_nodes_.pop_back();
    nodes_[static_cast<std::uint32_t>(id)] = std::make_unique<Node>();
  }
  Node& made = Mutable(id);
  made.type = type;
  made.inode = next_inode_++;
  made.accessed = made.modified = made.changed = time;
  return id;
}

void FileTree::FreeNode(NodeId id) {
  DropWindow(id);
  const Node& gone = node(id);
  if (!gone.contents.shared()) Charge(gone, gone.contents.size(), 0);
  if (!gone.original) --used_inodes_;
  nodes_[static_cast<std::uint32_t>(id)].reset();
  free_nodes_.push_back(id);
}

NodeId FileTree::AddFixed(NodeId directory, std::string_view name, FileType type) {
  const NodeId id = NewNode(type, kUntouchedTime);
  Link(directory, name, id, node(directory).entries.next_order);
  return id;
}

Result<void> FileTree::AddInput(std::uint32_t index) {
  const InputFile& input = inputs_[index];
  dirty_ = true;
  if (!input.contents || !input.path.starts_with('/') || input.path.size() > kMaxPathBytes) {
    return BadInput(input.path);
  }
  NodeId directory = NodeId::kRoot;
  std::string_view rest = std::string_view(input.path).substr(1);
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (!IsEntryName(name)) return BadInput(input.path);
    const auto found = node(directory).entries.names.find(name);
    const bool exists = found != node(directory).entries.names.end();
    const bool last = slash == std::string_view::npos;
    if (exists && (last || node(found->second.node).type != FileType::kDirectory)) {
      return BadInput(input.path);
    }
    if (node(directory).mount != Node::kNoMount) {
      return Error(ErrorCode::kInvalidArgument,
                   "an input file would lie below a mount: " + input.path);
    }
    if (exists) {
      directory = found->second.node;
    } else {
      const NodeId id = AddFixed(directory, name, last ? FileType::kRegular : FileType::kDirectory);
      Node& made = Mutable(id);
      made.writable = node(directory).writable;
      if (made.writable) ++used_inodes_;
      if (last) {
        made.input = index;
        made.contents.Share(input.contents);
        return {};
      }
      const LibraryIndex beneath = FindInLibrary(node(directory).library, name);
      if (const auto entry = library_.At(beneath);
          entry && entry->kind == LibraryImage::Kind::kDirectory) {
        made.library = beneath;
      }
      directory = id;
    }
    rest.remove_prefix(slash + 1);
  }
}

// ---- Finding ----

std::string_view FileTree::LibraryPath(LibraryIndex index) const {
  const auto entry = library_.At(index);
  return entry ? entry->path : std::string_view();
}

LibraryIndex FileTree::FindInLibrary(LibraryIndex directory, std::string_view name) const {
  if (directory == LibraryIndex::kNone) return LibraryIndex::kNone;
  joined_.assign(LibraryPath(directory));
  if (!joined_.empty()) joined_ += '/';
  joined_ += name;
  return library_.Find(joined_);
}

Place FileTree::Child(Place directory, std::string_view name) const {
  if (directory.node == NodeId::kNone) return {.entry = FindInLibrary(directory.entry, name)};
  const Node& here = node(directory.node);
  const auto found = here.entries.names.find(name);
  if (found != here.entries.names.end()) return {.node = found->second.node};
  return {.entry = FindInLibrary(here.library, name)};
}

// Below a name that only the library has there is only the library, so the rest of a path can be
// looked up at once. This finds only paths without "." or ".."; others, and their errors, are
// handled step by step. The directory in between is not needed, because nothing in the library can
// be changed.
LibraryIndex FileTree::FindStraight(Place directory, std::string_view name,
                                    std::string_view rest) const {
  if (rest.empty()) return LibraryIndex::kNone;
  LibraryIndex base = directory.entry;
  if (directory.node != NodeId::kNone) {
    const Node& here = node(directory.node);
    if (here.library == LibraryIndex::kNone || here.entries.names.contains(name)) {
      return LibraryIndex::kNone;
    }
    base = here.library;
  }
  const auto length = static_cast<std::size_t>(rest.data() + rest.size() - name.data());
  // No path of the library is this long; looking one up at each step would take quadratic time.
  if (length > kMaxStraightBytes) return LibraryIndex::kNone;
  return FindInLibrary(base, {name.data(), length});
}

Place FileTree::PlaceAt(std::string_view path) const {
  Place here{.node = NodeId::kRoot};
  while (!here.empty()) {
    const std::string_view name = TakeComponent(path);
    if (name.empty()) break;
    here = IsDirectory(here) ? Child(here, name) : Place();
  }
  return here;
}

Place FileTree::Parent(Place directory) const {
  if (directory.node != NodeId::kNone) return {.node = node(directory.node).parent};
  // The parent of a library directory may also exist in the tree.
  const std::string_view path = LibraryPath(directory.entry);
  const std::size_t slash = path.rfind('/');
  return PlaceAt(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}

Io<Walked> FileTree::Walk(Place start, std::string_view path) {
  if (const Errno bad = CheckPath(path); bad != Errno::kSuccess) return std::unexpected(bad);
  Build();
  Walked walked;
  walked.must_be_directory = path.ends_with('/');
  walked.place = path.starts_with('/') ? Place{.node = NodeId::kRoot} : start;
  while (true) {
    const std::string_view name = TakeComponent(path);
    if (name.empty()) return walked;
    const Place here = walked.place;
    if (here.empty()) return std::unexpected(Errno::kNoent);
    if (!IsDirectory(here)) return std::unexpected(Errno::kNotdir);
    if (here.node != NodeId::kNone && !node(here.node).linked) {
      return std::unexpected(Errno::kNoent);
    }
    walked.name = {};
    if (name == ".") continue;
    if (name == "..") {
      walked.place = Parent(here);
      continue;
    }
    if (name.size() > kMaxNameBytes) return std::unexpected(Errno::kNametoolong);
    walked.parent = here;
    if (const Errno unknown = EnsureListed(here); unknown != Errno::kSuccess) {
      return std::unexpected(unknown);
    }
    if (const LibraryIndex entry = FindStraight(here, name, path); entry != LibraryIndex::kNone) {
      walked.place = {.entry = entry};
      walked.name = LastComponent(LibraryPath(entry));
      return walked;
    }
    walked.name = name;
    walked.place = Child(here, name);
  }
}

bool FileTree::IsDirectory(Place place) const {
  if (place.node == NodeId::kRoot) return true;
  if (place.node != NodeId::kNone) return node(place.node).type == FileType::kDirectory;
  const auto entry = library_.At(place.entry);
  return entry && entry->kind == LibraryImage::Kind::kDirectory;
}

FileStat FileTree::Stat(Place place) {
  Build();
  if (place.node != NodeId::kNone) {
    const Node& here = node(place.node);
    return {.inode = here.inode,
            .type = here.type,
            .links = here.linked ? 1U : 0U,
            .size = here.original ? here.original->version.size : here.contents.size(),
            .accessed = here.accessed,
            .modified = here.modified,
            .changed = here.changed};
  }
  const auto entry = library_.At(place.entry).value_or(LibraryImage::Entry());
  return {.inode = kLibraryInodes + static_cast<std::uint32_t>(place.entry),
          .type = entry.kind == LibraryImage::Kind::kDirectory ? FileType::kDirectory
                                                               : FileType::kRegular,
          .size = entry.contents.size(),
          .accessed = kUntouchedTime,
          .modified = kUntouchedTime,
          .changed = kUntouchedTime};
}

Io<std::size_t> FileTree::Read(Place place, std::uint64_t offset, std::span<std::uint8_t> out) {
  if (place.node != NodeId::kNone) {
    if (node(place.node).original) return ReadOriginal(place.node, offset, out);
    return node(place.node).contents.Read(offset, out);
  }
  const auto entry = library_.At(place.entry);
  if (!entry || offset >= entry->contents.size() || out.empty()) return 0;
  const auto rest = entry->contents.subspan(static_cast<std::size_t>(offset));
  const std::size_t length = std::min(rest.size(), out.size());
  std::copy_n(rest.begin(), length, out.begin());
  return length;
}

std::optional<DirectoryEntry> FileTree::EntryAt(Place directory, std::uint64_t cookie) {
  Build();
  const Node* here = directory.node == NodeId::kNone ? nullptr : &node(directory.node);
  if (here != nullptr && !here->linked) return std::nullopt;
  if (cookie < kTreeCookies) {
    const Place place = cookie == 0 ? directory : Parent(directory);
    return DirectoryEntry{.name = cookie == 0 ? "." : "..",
                          .inode = Stat(place).inode,
                          .type = FileType::kDirectory,
                          .next_cookie = cookie + 1};
  }
  if (here != nullptr && cookie < kLibraryCookies) {
    const auto found = here->entries.in_order.lower_bound(cookie - kTreeCookies);
    if (found != here->entries.in_order.end()) {
      const Node& child = node(found->second->second.node);
      return DirectoryEntry{.name = found->second->first,
                            .inode = child.inode,
                            .type = child.type,
                            .next_cookie = kTreeCookies + found->first + 1};
    }
  }
  const LibraryIndex base = here != nullptr ? here->library : directory.entry;
  if (base == LibraryIndex::kNone) return std::nullopt;
  const std::string_view path = LibraryPath(base);
  // kLibraryCookies is the start, kLibraryCookies + 1 + p the entry at position p.
  const std::uint64_t position =
      cookie <= kLibraryCookies ? library_.FirstChildPosition(path) : cookie - kLibraryCookies - 1;
  if (position >= library_.count()) return std::nullopt;
  auto child = library_.NextChild(path, static_cast<std::uint32_t>(position));
  for (; child != LibraryIndex::kNone;
       child = library_.NextChild(path, static_cast<std::uint32_t>(child) + 1)) {
    const std::string_view name = LastComponent(LibraryPath(child));
    if (here != nullptr && here->entries.names.contains(name)) continue;
    const FileStat stat = Stat({.entry = child});
    return DirectoryEntry{.name = name,
                          .inode = stat.inode,
                          .type = stat.type,
                          .next_cookie = kLibraryCookies + 2 + static_cast<std::uint32_t>(child)};
  }
  return std::nullopt;
}

std::string FileTree::PathOf(Place place) const {
  if (place.node == NodeId::kNone) return '/' + std::string(LibraryPath(place.entry));
  std::string path;
  for (NodeId id = place.node; id != NodeId::kRoot; id = node(id).parent) {
    for (const auto& [name, entry] : node(node(id).parent).entries.names) {
      if (entry.node == id) path.insert(0, '/' + name);
    }
  }
  return path.empty() ? "/" : path;
}

bool FileTree::IsBelow(NodeId id, NodeId ancestor) const {
  while (id != ancestor && id != NodeId::kRoot) id = node(id).parent;
  return id == ancestor;
}

// ---- Changing ----

void FileTree::Link(NodeId directory, std::string_view name, NodeId child, std::uint64_t order) {
  Directory& entries = Mutable(directory).entries;
  const auto placed =
      entries.names.emplace(name, Directory::Entry{.node = child, .order = order}).first;
  entries.in_order.emplace(order, placed);
  entries.next_order = std::max(entries.next_order, order + 1);
  Mutable(child).parent = directory;
}

void FileTree::Unlink(NodeId directory, std::string_view name) {
  Directory& entries = Mutable(directory).entries;
  const auto found = entries.names.find(name);
  entries.in_order.erase(found->second.order);
  entries.names.erase(found);
}

Io<NodeId> FileTree::Create(NodeId directory, std::string_view name, FileType type,
                            std::uint64_t now) {
  if (const Errno bad = MayName(directory, name); bad != Errno::kSuccess) {
    return std::unexpected(bad);
  }
  if (used_inodes_ >= limits_.inodes) return std::unexpected(Errno::kNospc);
  dirty_ = true;
  ++used_inodes_;
  const NodeId id = NewNode(type, now);
  Mutable(id).writable = true;
  Mutable(id).mount = node(directory).mount;
  Link(directory, name, id, node(directory).entries.next_order);
  Mutable(directory).modified = Mutable(directory).changed = now;
  return id;
}

void FileTree::Remove(NodeId directory, std::string_view name, std::uint64_t now) {
  const NodeId id = node(directory).entries.names.find(name)->second.node;
  if (node(id).original) Remember(node(id));
  Unlink(directory, name);
  Mutable(directory).modified = Mutable(directory).changed = now;
  Mutable(id).linked = false;
  Mutable(id).changed = now;
  if (node(id).opens == 0) FreeNode(id);
}

void FileTree::Move(NodeId from, std::string_view old_name, NodeId to, std::string_view new_name,
                    std::uint64_t now) {
  const NodeId id = node(from).entries.names.find(old_name)->second.node;
  Unlink(from, old_name);
  Link(to, new_name, id, node(to).entries.next_order);
  for (const NodeId directory : {from, to}) {
    Mutable(directory).modified = Mutable(directory).changed = now;
  }
  Mutable(id).changed = now;
}

void FileTree::Hold(NodeId id) {
  Node& held = Mutable(id);
  ++held.opens;
  if (held.writable) dirty_ = true;
}

void FileTree::Release(NodeId id) {
  Node& released = Mutable(id);
  if (--released.opens > 0) return;
  DropWindow(id);
  if (!released.linked) FreeNode(id);
}

void FileTree::SetTimes(NodeId id, std::optional<std::uint64_t> accessed,
                        std::optional<std::uint64_t> modified, std::uint64_t now) {
  dirty_ = true;
  Node& touched = Mutable(id);
  touched.accessed = accessed.value_or(touched.accessed);
  touched.modified = modified.value_or(touched.modified);
  touched.changed = now;
}

std::uint64_t FileTree::MaxFileBytes(const Node& file) const {
  return file.mount == Node::kNoMount ? limits_.file_bytes : limits_.mount_file_bytes;
}

std::uint64_t FileTree::Room(const Node& file) const {
  const std::uint64_t room = limits_.total_bytes - used_bytes_;
  if (file.mount == Node::kNoMount) return room;
  const Mounted& mounted = mounts_[file.mount];
  const std::uint64_t limit = mounted.mount.write_bytes_limit;
  return limit == 0 ? room : std::min(room, limit - mounted.used_bytes);
}

void FileTree::Charge(const Node& file, std::uint64_t before, std::uint64_t after) {
  used_bytes_ += after - before;
  if (file.mount != Node::kNoMount) mounts_[file.mount].used_bytes += after - before;
}

Errno FileTree::MayGrow(const Node& file, std::uint64_t size) const {
  if (size > MaxFileBytes(file)) return Errno::kFbig;
  const std::uint64_t has = file.contents.shared() ? 0 : file.contents.size();
  return size > has && size - has > Room(file) ? Errno::kNospc : Errno::kSuccess;
}

// A host's file is copied before its first change. From then on it counts against the quota.
Errno FileTree::MakePrivate(NodeId id) {
  Node& file = Mutable(id);
  if (file.original) return CopyUp(id);
  if (file.contents.shared()) {
    const std::uint64_t size = file.contents.size();
    if (const Errno full = MayGrow(file, size); full != Errno::kSuccess) return full;
    if (!file.contents.Unshare(kSliceBytes)) return Errno::kUnfinished;
    Charge(file, 0, size);
  }
  file.input = Node::kNoInput;
  return Errno::kSuccess;
}

Io<std::size_t> FileTree::Write(NodeId id, std::uint64_t offset, std::span<const std::uint8_t> data,
                                std::uint64_t now) {
  Node& file = Mutable(id);
  if (data.empty()) return 0;
  const std::uint64_t most = MaxFileBytes(file);
  if (offset >= most) return std::unexpected(Errno::kFbig);
  if (const Errno full = MakePrivate(id); full != Errno::kSuccess) return std::unexpected(full);
  const std::uint64_t size = file.contents.size();
  std::uint64_t end = offset + std::min<std::uint64_t>(data.size(), most - offset);
  if (end > size) {
    // A gap counts in full.
    const std::uint64_t reach = size + Room(file);
    if (offset >= reach) return std::unexpected(Errno::kNospc);
    end = std::min(end, reach);
  }
  const auto length = static_cast<std::size_t>(end - offset);
  file.contents.Write(offset, data.first(length));
  if (end > size) Charge(file, size, end);
  file.modified = file.changed = now;
  return length;
}

Errno FileTree::Resize(NodeId id, std::uint64_t size, std::uint64_t now) {
  Node& file = Mutable(id);
  if (const Errno full = MayGrow(file, size); full != Errno::kSuccess) return full;
  if (size == 0 && file.contents.shared()) file.contents.Clear();
  const Errno full = size == 0 && file.original ? Detach(id) : MakePrivate(id);
  if (full != Errno::kSuccess) return full;
  const std::uint64_t had = file.contents.size();
  // The copy itself may have used up the rest of the quota.
  if (const Errno once_more = MayGrow(file, size); once_more != Errno::kSuccess) return once_more;
  file.contents.Resize(size);
  Charge(file, had, size);
  file.modified = file.changed = now;
  return Errno::kSuccess;
}

}  // namespace caisson::worker
