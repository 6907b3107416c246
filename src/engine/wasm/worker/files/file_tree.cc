#include "engine/wasm/worker/files/file_tree.h"

#include <algorithm>
#include <utility>

#include "engine/wasm/worker/files/path.h"

namespace caisson::worker {
namespace {

// Root, tmp, output, input, dev and what is in dev: built alike for every cell, so kept from run to
// run.
constexpr std::size_t kFixedNodes = 9;

// Inode numbers of the library's entries start here, out of the way of the tree's own.
constexpr std::uint64_t kLibraryInodes = std::uint64_t{1} << 48;

// Cookies: 0 and 1 are "." and "..", 2 + order an entry of the tree, from here on the library's.
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
                             const FileLimits& limits) {
  Reset();
  library_ = library;
  limits_ = limits;
  inputs_ = std::move(inputs);
  if (inputs_.empty()) return {};
  Build();
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) TRY(AddInput(i));
  if (used_inodes_ > limits_.inodes) {
    return Error(ErrorCode::kResourceExhausted, "more input files than the cell may have");
  }
  return {};
}

void FileTree::Reset() {
  if (!dirty_) return;
  dirty_ = false;
  // The host's files sit among the fixed nodes; without any, those are as they were but for two
  // directories.
  nodes_.resize(inputs_.empty() ? kFixedNodes : 0);
  if (!nodes_.empty()) {
    for (const NodeId id : {NodeId::kTmp, NodeId::kOutput}) {
      Node& directory = Mutable(id);
      directory.entries = {};
      directory.accessed = directory.modified = directory.changed = kUntouchedTime;
    }
  }
  inputs_.clear();
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
  const Node& gone = node(id);
  if (!gone.contents.shared()) used_bytes_ -= gone.contents.size();
  --used_inodes_;
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

// Below a name that only the library has there is nothing but the library, so what is left of a
// path can be looked up at once. Only a path without detours is found like this; the others, and
// their errors, go step by step. The directory in between is not named, and need not be: nothing in
// the library can be changed.
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
  // A library directory's parent may be one that the tree has, too.
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
            .size = here.contents.size(),
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

std::size_t FileTree::Read(Place place, std::uint64_t offset, std::span<std::uint8_t> out) const {
  if (place.node != NodeId::kNone) return node(place.node).contents.Read(offset, out);
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
  if (used_inodes_ >= limits_.inodes) return std::unexpected(Errno::kNospc);
  dirty_ = true;
  ++used_inodes_;
  const NodeId id = NewNode(type, now);
  Mutable(id).writable = true;
  Link(directory, name, id, node(directory).entries.next_order);
  Mutable(directory).modified = Mutable(directory).changed = now;
  return id;
}

void FileTree::Remove(NodeId directory, std::string_view name, std::uint64_t now) {
  const NodeId id = node(directory).entries.names.find(name)->second.node;
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
  if (--released.opens == 0 && !released.linked) FreeNode(id);
}

void FileTree::SetTimes(NodeId id, std::optional<std::uint64_t> accessed,
                        std::optional<std::uint64_t> modified, std::uint64_t now) {
  dirty_ = true;
  Node& touched = Mutable(id);
  touched.accessed = accessed.value_or(touched.accessed);
  touched.modified = modified.value_or(touched.modified);
  touched.changed = now;
}

Errno FileTree::MayGrow(const Node& file, std::uint64_t size) const {
  if (size > limits_.file_bytes) return Errno::kFbig;
  const std::uint64_t has = file.contents.shared() ? 0 : file.contents.size();
  return size > has && size - has > limits_.total_bytes - used_bytes_ ? Errno::kNospc
                                                                      : Errno::kSuccess;
}

// A host's file is copied before its first change: from here on it counts.
Errno FileTree::MakePrivate(Node& file) {
  if (file.contents.shared()) {
    const std::uint64_t size = file.contents.size();
    if (const Errno full = MayGrow(file, size); full != Errno::kSuccess) return full;
    file.contents.Unshare();
    used_bytes_ += size;
  }
  file.input = Node::kNoInput;
  return Errno::kSuccess;
}

Io<std::size_t> FileTree::Write(NodeId id, std::uint64_t offset, std::span<const std::uint8_t> data,
                                std::uint64_t now) {
  Node& file = Mutable(id);
  if (data.empty()) return 0;
  if (offset >= limits_.file_bytes) return std::unexpected(Errno::kFbig);
  if (const Errno full = MakePrivate(file); full != Errno::kSuccess) return std::unexpected(full);
  const std::uint64_t size = file.contents.size();
  std::uint64_t end = offset + std::min<std::uint64_t>(data.size(), limits_.file_bytes - offset);
  if (end > size) {
    // A gap counts in full.
    const std::uint64_t reach = size + (limits_.total_bytes - used_bytes_);
    if (offset >= reach) return std::unexpected(Errno::kNospc);
    end = std::min(end, reach);
  }
  const auto length = static_cast<std::size_t>(end - offset);
  file.contents.Write(offset, data.first(length));
  if (end > size) used_bytes_ += end - size;
  file.modified = file.changed = now;
  return length;
}

Errno FileTree::Resize(NodeId id, std::uint64_t size, std::uint64_t now) {
  Node& file = Mutable(id);
  if (const Errno full = MayGrow(file, size); full != Errno::kSuccess) return full;
  if (size == 0 && file.contents.shared()) file.contents.Clear();
  if (const Errno full = MakePrivate(file); full != Errno::kSuccess) return full;
  const std::uint64_t had = file.contents.size();
  // Once more: the copy itself may have used up what was left.
  if (const Errno full = MayGrow(file, size); full != Errno::kSuccess) return full;
  file.contents.Resize(size);
  used_bytes_ += size;
  used_bytes_ -= had;
  file.modified = file.changed = now;
  return Errno::kSuccess;
}

// ---- What comes out ----

Capture FileTree::CaptureOutput(std::size_t max_files) const {
  using Change = CapturedFile::Change;
  Capture capture;
  if (!dirty_) return capture;
  std::map<std::string_view, std::uint32_t> given;
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].path.starts_with("/output/")) given.emplace(inputs_[i].path, i);
  }
  std::vector<std::pair<NodeId, std::string>> directories;
  directories.emplace_back(NodeId::kOutput, "/output");
  while (!directories.empty()) {
    const auto [id, path] = std::move(directories.back());
    directories.pop_back();
    for (const auto& [name, entry] : node(id).entries.names) {
      const Node& child = node(entry.node);
      if (path.size() + 1 + name.size() > kMaxPathBytes) {
        capture.incomplete = true;
        continue;
      }
      std::string full = path + '/' + name;
      if (child.type == FileType::kDirectory) {
        directories.emplace_back(entry.node, std::move(full));
        continue;
      }
      const auto before = given.find(full);
      if (before != given.end() && child.input == before->second) continue;
      capture.files.push_back(
          {.path = std::move(full),
           .change = before == given.end() ? Change::kCreated : Change::kModified,
           .size = child.contents.size(),
           .contents = &child.contents});
    }
  }
  for (const auto& [path, index] : given) {
    const Place place = PlaceAt(path);
    if (place.empty() || IsDirectory(place)) {
      capture.files.push_back({.path = std::string(path), .change = Change::kDeleted});
    }
  }
  std::ranges::sort(capture.files, {}, &CapturedFile::path);
  if (capture.files.size() > max_files) {
    capture.files.resize(max_files);
    capture.incomplete = true;
  }
  return capture;
}

}  // namespace caisson::worker
