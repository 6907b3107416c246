// Saves and restores the changeable part of a tree: /tmp, /output, the listed part of the mounts,
// and removed files that are still open.
//
// A node is written after its directory, so a blob cannot describe a cycle. The contents of the
// host's files are not in it: they are read again, and a file that has changed meanwhile is
// detected.

#include <algorithm>

#include "engine/wasm/worker/files/file_tree.h"
#include "engine/wasm/worker/files/path.h"

namespace caisson::worker {
namespace {

constexpr std::uint32_t kFirstAfterWritable = static_cast<std::uint32_t>(NodeId::kOutput) + 1;
constexpr std::uint64_t kMaxInode = std::uint64_t{1} << 48;
constexpr std::uint64_t kMaxOrder = std::uint64_t{1} << 61;

enum class Source : std::uint8_t { kPrivate = 0, kInput = 1 };

std::uint64_t ChunkCount(std::uint64_t size) {
  return size / FileContents::kChunkBytes + (size % FileContents::kChunkBytes != 0 ? 1 : 0);
}

void PutVersion(const wire::FileVersion& version, ByteWriter& out) {
  out.Put(version.inode);
  out.Put(version.size);
  out.Put(version.modified_ns);
}

wire::FileVersion GetVersion(ByteReader& in) {
  wire::FileVersion version;
  version.inode = in.Get<std::uint64_t>();
  version.size = in.Get<std::uint64_t>();
  version.modified_ns = in.Get<std::uint64_t>();
  return version;
}

Error Malformed(std::string_view what) {
  return {ErrorCode::kInvalidArgument, "saved files: " + std::string(what)};
}

}  // namespace

void FileTree::SaveNode(const Node& saved, ByteWriter& out) const {
  out.Put(saved.inode);
  out.Put(saved.accessed);
  out.Put(saved.modified);
  out.Put(saved.changed);
  if (saved.type == FileType::kDirectory) out.Put(saved.entries.next_order);
  out.Put(saved.mount);
  out.Put(static_cast<std::uint8_t>(saved.original ? 1 : 0));
  if (saved.original) {
    out.PutText(saved.original->path);
    PutVersion(saved.original->version, out);
    out.Put(static_cast<std::uint8_t>(saved.original->listed ? 1 : 0));
  } else if (saved.type == FileType::kRegular) {
    SaveFile(saved, out);
  }
}

void FileTree::SaveFile(const Node& file, ByteWriter& out) const {
  if (file.contents.shared()) {
    out.Put(Source::kInput);
    out.PutText(inputs_[file.input].path);
    return;
  }
  out.Put(Source::kPrivate);
  out.Put(file.contents.size());
  for (std::size_t i = 0; i < file.contents.chunk_count(); ++i)
    out.PutBytes(file.contents.chunk(i));
}

void FileTree::SaveMounts(ByteWriter& out) const {
  out.Put(static_cast<std::uint32_t>(mounts_.size()));
  for (const Mounted& mounted : mounts_) {
    out.PutText(mounted.mount.path);
    out.Put(static_cast<std::uint8_t>(mounted.mount.writable ? 1 : 0));
    out.Put(static_cast<std::uint32_t>(mounted.gone.size()));
    for (const auto& [path, gone] : mounted.gone) {
      out.PutText(path);
      PutVersion(gone.version, out);
      out.Put(gone.type);
    }
  }
}

std::vector<NodeId> FileTree::SavedRoots() const {
  std::vector<NodeId> roots = {NodeId::kTmp, NodeId::kOutput};
  for (const Mounted& mounted : mounts_) {
    if (mounted.root != NodeId::kOutput) roots.push_back(mounted.root);
  }
  return roots;
}

std::vector<std::uint32_t> FileTree::Save(ByteWriter& out) const {
  std::vector<std::uint32_t> numbers(nodes_.size(), kNoNumber);
  SaveMounts(out);
  out.Put(static_cast<std::uint8_t>(dirty_ ? 1 : 0));
  if (!dirty_) return numbers;

  std::vector<NodeId> order = SavedRoots();
  const std::size_t roots = order.size();
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const auto& [name, entry] : node(order[i]).entries.names) order.push_back(entry.node);
  }
  // Sorted by inode, so that equal cells give equal blobs whatever the order of their nodes.
  std::vector<NodeId> unlinked;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] && !nodes_[i]->linked) unlinked.push_back(NodeId{i});
  }
  std::ranges::sort(unlinked, {}, [this](NodeId id) { return node(id).inode; });
  const std::size_t linked = order.size();
  order.insert(order.end(), unlinked.begin(), unlinked.end());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    numbers[static_cast<std::uint32_t>(order[i])] = i;
  }

  out.Put(next_inode_);
  out.Put(static_cast<std::uint32_t>(order.size() - roots));
  for (std::size_t i = 0; i < roots; ++i) SaveNode(node(order[i]), out);
  for (std::size_t i = 0; i < linked; ++i) {
    for (const auto& [name, entry] : node(order[i]).entries.names) {
      out.Put(node(entry.node).type);
      out.Put(static_cast<std::uint32_t>(i));
      out.Put(entry.order);
      out.PutText(name);
      SaveNode(node(entry.node), out);
    }
  }
  for (const NodeId id : unlinked) {
    out.Put(node(id).type);
    out.Put(kNoNumber);
    SaveNode(node(id), out);
  }
  return numbers;
}

Result<void> FileTree::RestoreMounts(ByteReader& in) {
  const Error others(ErrorCode::kFailedPrecondition, "the cell was saved with other mounts");
  if (in.Get<std::uint32_t>() != mounts_.size()) return others;
  for (Mounted& mounted : mounts_) {
    if (in.GetText() != mounted.mount.path) return others;
    if ((in.Get<std::uint8_t>() != 0) != mounted.mount.writable) return others;
    for (auto n = in.Get<std::uint32_t>(); n > 0 && in.ok(); --n) {
      std::string path(in.GetText());
      const wire::FileVersion version = GetVersion(in);
      const auto type = FileType{in.Get<std::uint8_t>()};
      if (path.size() > kMaxPathBytes || !mounted.mount.writable) return Malformed("mounts");
      mounted.gone.emplace(std::move(path), Gone{.version = version, .type = type});
    }
  }
  return {};
}

void FileTree::RestoreCommon(ByteReader& in, Node& restored) const {
  restored.inode = in.Get<std::uint64_t>();
  restored.accessed = in.Get<std::uint64_t>();
  restored.modified = in.Get<std::uint64_t>();
  restored.changed = in.Get<std::uint64_t>();
  if (restored.inode == 0 || restored.inode >= next_inode_) in.Fail();
  if (restored.type == FileType::kDirectory) {
    restored.entries.next_order = in.Get<std::uint64_t>();
    if (restored.entries.next_order > kMaxOrder) in.Fail();
  }
  restored.mount = in.Get<std::uint32_t>();
  if (restored.mount != Node::kNoMount && restored.mount >= mounts_.size()) return in.Fail();
  restored.writable = restored.mount == Node::kNoMount || mounts_[restored.mount].mount.writable;
  restored.original.reset();
  if (in.Get<std::uint8_t>() == 0) {
    if (!restored.writable) in.Fail();
    return;
  }
  if (restored.mount == Node::kNoMount) return in.Fail();
  restored.original = std::make_unique<Original>();
  restored.original->path = in.GetText();
  restored.original->version = GetVersion(in);
  restored.original->end = restored.original->version.size;
  restored.original->listed = in.Get<std::uint8_t>() != 0;
  if (restored.original->path.size() > kMaxPathBytes) in.Fail();
}

bool FileTree::RestoreFile(ByteReader& in, Node& file) {
  const auto source = Source{in.Get<std::uint8_t>()};
  if (source == Source::kInput) {
    const std::string_view path = in.GetText();
    for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].path != path) continue;
      file.input = i;
      file.contents.Share(inputs_[i].contents);
      return in.ok();
    }
    return false;
  }
  if (source != Source::kPrivate) return false;
  const auto size = in.Get<std::uint64_t>();
  if (!in.ok() || MayGrow(file, size) != Errno::kSuccess) return false;
  used_bytes_ += size;
  file.contents.Resize(size);
  for (std::uint64_t i = 0; i < ChunkCount(size); ++i) {
    const std::uint64_t at = i * FileContents::kChunkBytes;
    const auto bytes = in.GetBytes();
    if (!in.ok() || bytes.size() > FileContents::kChunkBytes || bytes.size() > size - at) {
      return false;
    }
    file.contents.Write(at, bytes);
  }
  return true;
}

Result<NodeId> FileTree::RestoreNode(ByteReader& in, const std::vector<NodeId>& earlier) {
  const auto type = FileType{in.Get<std::uint8_t>()};
  const auto parent = in.Get<std::uint32_t>();
  if (type != FileType::kDirectory && type != FileType::kRegular) return Malformed("type");
  if (parent != kNoNumber && parent >= earlier.size()) return Malformed("parent");
  const NodeId id = NewNode(type, 0);
  --next_inode_;  // The blob has its number.
  Node& made = Mutable(id);
  if (parent == kNoNumber) {
    made.linked = false;
  } else {
    const auto order = in.Get<std::uint64_t>();
    const std::string_view name = in.GetText();
    const Node& directory = node(earlier[parent]);
    const bool unlisted = directory.original && !directory.original->listed;
    if (!in.ok() || directory.type != FileType::kDirectory || !directory.linked || unlisted ||
        !IsEntryName(name) || directory.entries.names.contains(name) ||
        order >= directory.entries.next_order || directory.entries.in_order.contains(order)) {
      return Malformed("entry");
    }
    Link(earlier[parent], name, id, order);
  }
  RestoreCommon(in, made);
  if (!in.ok()) return Malformed("cut off");
  if (parent != kNoNumber && made.mount != node(earlier[parent]).mount) return Malformed("mount");
  std::uint32_t& counted = made.original ? listed_ : used_inodes_;
  if (++counted > (made.original ? wire::kMaxListed : limits_.inodes)) {
    return Malformed("more files than the cell may have");
  }
  if (type == FileType::kRegular && !made.original && !RestoreFile(in, made)) {
    return Malformed("contents");
  }
  return id;
}

Result<std::vector<NodeId>> FileTree::Restore(ByteReader& in) {
  std::vector<NodeId> restored;
  TRY(RestoreMounts(in));
  const auto dirty = in.Get<std::uint8_t>();
  if (!in.ok() || dirty > 1) return Malformed("header");
  if (dirty == 0) return restored;
  Build();
  dirty_ = true;
  // The host's files there are in the blob, unless they were removed.
  for (const NodeId id : {NodeId::kTmp, NodeId::kOutput}) Mutable(id).entries = {};
  for (std::uint32_t i = kFirstAfterWritable; i < nodes_.size(); ++i) {
    if (nodes_[i] && nodes_[i]->writable && nodes_[i]->mount == Node::kNoMount) FreeNode(NodeId{i});
  }
  const auto next_inode = in.Get<std::uint64_t>();
  const auto count = in.Get<std::uint32_t>();
  if (next_inode < next_inode_ || next_inode > kMaxInode) return Malformed("inodes");
  next_inode_ = next_inode;
  for (const NodeId id : SavedRoots()) {
    const std::uint64_t inode = node(id).inode;
    const std::uint32_t mount = node(id).mount;
    RestoreCommon(in, Mutable(id));
    Mutable(id).inode = inode;  // Fixed: it would survive Reset().
    if (node(id).mount != mount || (mount != Node::kNoMount) != (node(id).original != nullptr)) {
      return Malformed("mounts");
    }
    restored.push_back(id);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    TRY_ASSIGN(const NodeId id, RestoreNode(in, restored));
    restored.push_back(id);
  }
  if (!in.ok()) return Malformed("cut off");
  return restored;
}

}  // namespace caisson::worker
