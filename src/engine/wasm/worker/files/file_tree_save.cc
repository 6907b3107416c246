// Saving and restoring the writable part of a tree: /tmp, /output and removed files that are still
// open.
//
// A node is written after its directory, so a blob cannot describe a cycle.

#include <algorithm>

#include "engine/wasm/worker/files/file_tree.h"
#include "engine/wasm/worker/files/path.h"

namespace caisson::worker {
namespace {

constexpr std::uint32_t kNoParent = 0xffffffff;
constexpr std::uint32_t kFirstAfterWritable = static_cast<std::uint32_t>(NodeId::kOutput) + 1;
constexpr std::uint64_t kMaxInode = std::uint64_t{1} << 48;
constexpr std::uint64_t kMaxOrder = std::uint64_t{1} << 61;

enum class Source : std::uint8_t { kPrivate = 0, kInput = 1 };

std::uint64_t ChunkCount(std::uint64_t size) {
  return size / FileContents::kChunkBytes + (size % FileContents::kChunkBytes != 0 ? 1 : 0);
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
  if (saved.type == FileType::kRegular) SaveFile(saved, out);
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

std::vector<std::uint32_t> FileTree::Save(ByteWriter& out) const {
  std::vector<std::uint32_t> numbers(nodes_.size(), kNoParent);
  std::vector<NodeId> order;
  const auto add = [&](NodeId id) {
    numbers[static_cast<std::uint32_t>(id)] = static_cast<std::uint32_t>(order.size());
    order.push_back(id);
  };
  out.Put(static_cast<std::uint8_t>(dirty_ ? 1 : 0));
  if (!dirty_) return numbers;
  out.Put(next_inode_);
  out.Put(used_inodes_);
  for (const NodeId id : {NodeId::kTmp, NodeId::kOutput}) {
    add(id);
    SaveNode(node(id), out);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const auto& [name, entry] : node(order[i]).entries.names) {
      const Node& child = node(entry.node);
      add(entry.node);
      out.Put(child.type);
      out.Put(static_cast<std::uint32_t>(i));
      out.Put(entry.order);
      out.PutText(name);
      SaveNode(child, out);
    }
  }
  // By inode, so that equal cells make equal blobs however their nodes came to lie.
  std::vector<NodeId> unlinked;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] && !nodes_[i]->linked) unlinked.push_back(NodeId{i});
  }
  std::ranges::sort(unlinked, {}, [this](NodeId id) { return node(id).inode; });
  for (const NodeId id : unlinked) {
    add(id);
    out.Put(node(id).type);
    out.Put(kNoParent);
    SaveNode(node(id), out);
  }
  return numbers;
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
  if (parent != kNoParent && parent >= earlier.size()) return Malformed("parent");
  const NodeId id = NewNode(type, 0);
  --next_inode_;  // The blob says which number it has.
  ++used_inodes_;
  Node& made = Mutable(id);
  made.writable = true;
  if (parent == kNoParent) {
    made.linked = false;
  } else {
    const auto order = in.Get<std::uint64_t>();
    const std::string_view name = in.GetText();
    const Node& directory = node(earlier[parent]);
    if (!in.ok() || directory.type != FileType::kDirectory || !directory.linked ||
        !IsEntryName(name) || directory.entries.names.contains(name) ||
        order >= directory.entries.next_order || directory.entries.in_order.contains(order)) {
      return Malformed("entry");
    }
    Link(earlier[parent], name, id, order);
  }
  RestoreCommon(in, made);
  if (type == FileType::kRegular && !RestoreFile(in, made)) return Malformed("contents");
  if (!in.ok()) return Malformed("cut off");
  return id;
}

Result<std::vector<NodeId>> FileTree::Restore(ByteReader& in) {
  std::vector<NodeId> restored;
  const auto dirty = in.Get<std::uint8_t>();
  if (!in.ok() || dirty > 1) return Malformed("header");
  if (dirty == 0) return restored;
  Build();
  dirty_ = true;
  // What the host gave there is in the blob, as far as it is still there.
  for (const NodeId id : {NodeId::kTmp, NodeId::kOutput}) Mutable(id).entries = {};
  for (std::uint32_t i = kFirstAfterWritable; i < nodes_.size(); ++i) {
    if (nodes_[i] && nodes_[i]->writable) FreeNode(NodeId{i});
  }
  const auto next_inode = in.Get<std::uint64_t>();
  const auto count = in.Get<std::uint32_t>();
  if (next_inode < next_inode_ || next_inode > kMaxInode) return Malformed("inodes");
  if (count > limits_.inodes) return Malformed("more files than the cell may have");
  next_inode_ = next_inode;
  for (const NodeId id : {NodeId::kTmp, NodeId::kOutput}) {
    const std::uint64_t inode = node(id).inode;
    RestoreCommon(in, Mutable(id));
    Mutable(id).inode = inode;  // Fixed: it would outlive Reset().
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
