// Captures the part of the tree that goes back to the host when a run has ended.

#include <algorithm>
#include <utility>

#include "engine/wasm/worker/files/file_tree.h"
#include "engine/wasm/worker/files/path.h"

namespace caisson::worker {

using Change = CapturedFile::Change;

Capture FileTree::Captured() const {
  Capture capture;
  if (!dirty_) return capture;
  if (node(NodeId::kOutput).mount == Node::kNoMount) CaptureGiven(capture);
  for (std::uint32_t i = 0; i < mounts_.size(); ++i) {
    if (mounts_[i].mount.writable) CaptureMount(i, capture);
  }
  // A removal comes before its replacement.
  std::ranges::sort(capture.files, {}, [](const CapturedFile& file) {
    return std::pair(std::string_view(file.path), file.change != Change::kDeleted);
  });
  return capture;
}

void FileTree::CaptureGiven(Capture& capture) const {
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
}

void FileTree::CaptureMount(std::uint32_t index, Capture& capture) const {
  const Mounted& mounted = mounts_[index];
  const auto was = [&](std::string_view path, FileType type) -> const Gone* {
    const auto found = mounted.gone.find(path.substr(mounted.mount.path.size() + 1));
    return found != mounted.gone.end() && found->second.type == type ? &found->second : nullptr;
  };
  for (const auto& [path, gone] : mounted.gone) {
    const NodeId now = FindBelow(mounted.root, path);
    if (now != NodeId::kNone && node(now).type == gone.type) continue;
    capture.files.push_back({.path = mounted.mount.path + '/' + path,
                             .change = Change::kDeleted,
                             .mount = index,
                             .directory = gone.type == FileType::kDirectory,
                             .seen = gone.version});
  }
  std::vector<std::pair<NodeId, std::string>> directories;
  directories.emplace_back(mounted.root, mounted.mount.path);
  while (!directories.empty()) {
    const auto [id, path] = std::move(directories.back());
    directories.pop_back();
    for (const auto& [name, entry] : node(id).entries.names) {
      const Node& child = node(entry.node);
      const bool directory = child.type == FileType::kDirectory;
      if (child.original && !directory) continue;
      if (path.size() + 1 + name.size() > kMaxPathBytes) {
        capture.mounts_incomplete = true;
        continue;
      }
      std::string full = path + '/' + name;
      if (directory) directories.emplace_back(entry.node, full);
      const Gone* before = was(full, child.type);
      if (child.original || (directory && before != nullptr)) continue;
      capture.files.push_back({.path = std::move(full),
                               .change = before == nullptr ? Change::kCreated : Change::kModified,
                               .size = child.contents.size(),
                               .contents = directory ? nullptr : &child.contents,
                               .mount = index,
                               .directory = directory,
                               .seen = before == nullptr ? wire::FileVersion() : before->version});
    }
  }
}

NodeId FileTree::FindBelow(NodeId directory, std::string_view path) const {
  while (directory != NodeId::kNone) {
    const std::string_view name = TakeComponent(path);
    if (name.empty()) break;
    const auto& names = node(directory).entries.names;
    const auto found = names.find(name);
    directory = found == names.end() ? NodeId::kNone : found->second.node;
  }
  return directory;
}

}  // namespace caisson::worker
