#include "engine/wasm/worker/files/cell_files.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/wasm/worker/files/masked_index.h"

namespace caisson::worker {
namespace {

constexpr std::uint64_t kMaxOffset = std::numeric_limits<std::int64_t>::max();

constexpr std::uint32_t kMaxOpenFiles = 1 << 16;

// A device never ends, so one read is limited.
constexpr std::size_t kMaxDeviceRead = std::size_t{1} << 20;
constexpr std::size_t kMaxRandomRead = std::size_t{64} << 10;

}  // namespace

CellFiles::CellFiles(FileServices& services) : services_(services) {
  OpenStandard();
}

Result<void> CellFiles::Start(LibraryImage library, std::vector<InputFile> inputs,
                              const FileLimits& limits, std::vector<Mount> mounts) {
  Reset();
  max_descriptors_ = std::min(limits.open_files, kMaxOpenFiles) + kRootDescriptor + 1;
  return tree_.Start(library, std::move(inputs), std::move(mounts), limits);
}

void CellFiles::Reset() {
  if (dirty_) {
    for (Descriptor& descriptor : descriptors_) Release(descriptor);
    OpenStandard();
    dirty_ = false;
  }
  tree_.Reset();
}

void CellFiles::OpenStandard() {
  descriptors_.assign({
      {.open = true, .read = true, .stream = Stream::kIn},
      {.open = true, .write = true, .stream = Stream::kOut},
      {.open = true, .write = true, .stream = Stream::kErr},
      {.open = true, .read = true, .preopened = true, .place = {.node = NodeId::kRoot}},
  });
}

// ---- Descriptors ----

CellFiles::Descriptor* CellFiles::Find(std::uint32_t fd) {
  if (fd >= descriptors_.size()) return nullptr;
  Descriptor& found = descriptors_[MaskedIndex(fd, descriptors_.size())];
  return found.open ? &found : nullptr;
}

Io<CellFiles::Descriptor*> CellFiles::FindReadable(std::uint32_t fd) {
  Descriptor* found = Find(fd);
  if (found == nullptr || !found->read) return std::unexpected(Errno::kBadf);
  if (found->stream == Stream::kNone && tree_.IsDirectory(found->place)) {
    return std::unexpected(Errno::kIsdir);
  }
  return found;
}

Io<CellFiles::Descriptor*> CellFiles::FindWritable(std::uint32_t fd) {
  Descriptor* found = Find(fd);
  if (found == nullptr || !found->write || found->stream != Stream::kNone ||
      tree_.IsDirectory(found->place)) {
    return std::unexpected(Errno::kBadf);
  }
  return found;
}

Io<std::uint32_t> CellFiles::Install(const Descriptor& descriptor) {
  std::uint32_t fd = 0;
  while (fd < descriptors_.size() && descriptors_[fd].open) ++fd;
  if (fd >= max_descriptors_) return std::unexpected(Errno::kMfile);
  dirty_ = true;
  if (fd == descriptors_.size()) descriptors_.emplace_back();
  descriptors_[fd] = descriptor;
  if (descriptor.place.node != NodeId::kNone) tree_.Hold(descriptor.place.node);
  return fd;
}

// Nothing holds the preopened root: it exists before the tree is built.
void CellFiles::Release(Descriptor& descriptor) {
  if (descriptor.open && !descriptor.preopened && descriptor.place.node != NodeId::kNone) {
    tree_.Release(descriptor.place.node);
  }
  descriptor = {};
}

Errno CellFiles::Close(std::uint32_t fd) {
  Descriptor* found = Find(fd);
  if (found == nullptr) return Errno::kBadf;
  dirty_ = true;
  Release(*found);
  return Errno::kSuccess;
}

Errno CellFiles::Renumber(std::uint32_t from, std::uint32_t to) {
  Descriptor* source = Find(from);
  Descriptor* target = Find(to);
  if (source == nullptr || target == nullptr) return Errno::kBadf;
  if (source == target) return Errno::kSuccess;
  dirty_ = true;
  Release(*target);
  *target = std::exchange(*source, {});
  return Errno::kSuccess;
}

Io<DescriptorInfo> CellFiles::Describe(std::uint32_t fd) {
  const Descriptor* found = Find(fd);
  if (found == nullptr) return std::unexpected(Errno::kBadf);
  const bool is_file = found->stream == Stream::kNone;
  return DescriptorInfo{.type = is_file ? tree_.Stat(found->place).type : FileType::kDevice,
                        .stream = found->stream,
                        .read = found->read,
                        .write = found->write,
                        .preopened = found->preopened,
                        .flags = found->flags};
}

Errno CellFiles::SetFlags(std::uint32_t fd, std::uint16_t flags) {
  Descriptor* found = Find(fd);
  if (found == nullptr) return Errno::kBadf;
  if ((flags & ~kKnownFlags) != 0) return Errno::kInval;
  dirty_ = true;
  found->flags = flags;
  return Errno::kSuccess;
}

// ---- Paths ----

Io<Walked> CellFiles::Walk(std::uint32_t directory, std::string_view path) {
  const Descriptor* base = Find(directory);
  if (base == nullptr) return std::unexpected(Errno::kBadf);
  if (base->stream != Stream::kNone || !tree_.IsDirectory(base->place)) {
    return std::unexpected(Errno::kNotdir);
  }
  return tree_.Walk(base->place, path);
}

bool CellFiles::MayChange(Place place) const {
  return place.node != NodeId::kNone && place.node != NodeId::kRoot &&
         tree_.node(place.node).writable;
}

Device CellFiles::DeviceAt(Place place) const {
  return place.node == NodeId::kNone ? Device::kNone : tree_.node(place.node).device;
}

Io<NodeId> CellFiles::ChangeableParent(const Walked& walked) const {
  if (!MayChange(walked.parent)) return std::unexpected(Errno::kRofs);
  return walked.parent.node;
}

Io<std::uint32_t> CellFiles::Open(std::uint32_t directory, std::string_view path,
                                  const OpenOptions& options) {
  if ((options.flags & ~kKnownFlags) != 0 || (options.create && options.directory)) {
    return std::unexpected(Errno::kInval);
  }
  // Checked first, so that a full table creates and truncates nothing.
  if (std::ranges::count(descriptors_, true, &Descriptor::open) >= max_descriptors_) {
    return std::unexpected(Errno::kMfile);
  }
  const Io<Place> place = OpenPlace(directory, path, options);
  if (!place) return std::unexpected(place.error());
  return Install({.open = true,
                  .read = options.read,
                  .write = options.write,
                  .flags = options.flags,
                  .place = *place});
}

Io<Place> CellFiles::OpenPlace(std::uint32_t directory, std::string_view path,
                               const OpenOptions& options) {
  const Io<Walked> walked = Walk(directory, path);
  if (!walked) return std::unexpected(walked.error());
  if (!walked->place.empty()) return OpenExisting(*walked, options);
  if (!options.create) return std::unexpected(Errno::kNoent);
  if (walked->must_be_directory) return std::unexpected(Errno::kIsdir);
  const Io<NodeId> parent = ChangeableParent(*walked);
  if (!parent) return std::unexpected(parent.error());
  const Io<NodeId> made = tree_.Create(*parent, walked->name, FileType::kRegular, services_.Now());
  if (!made) return std::unexpected(made.error());
  return Place{.node = *made};
}

Io<Place> CellFiles::OpenExisting(const Walked& walked, const OpenOptions& options) {
  if (options.create && options.exclusive) return std::unexpected(Errno::kExist);
  const Place place = walked.place;
  if (tree_.IsDirectory(place)) {
    const bool as_file = options.create || options.write || options.truncate;
    return as_file ? Io<Place>(std::unexpected(Errno::kIsdir)) : place;
  }
  if (options.directory || walked.must_be_directory) return std::unexpected(Errno::kNotdir);
  if (DeviceAt(place) != Device::kNone) return place;
  if ((options.write || options.truncate) && !MayChange(place)) {
    return std::unexpected(Errno::kRofs);
  }
  if (options.truncate) {
    const Errno cut = tree_.Resize(place.node, 0, services_.Now());
    if (cut != Errno::kSuccess) return std::unexpected(cut);
  }
  return place;
}

// ---- Bytes ----

Io<std::size_t> CellFiles::Transfer(const Descriptor& from, std::uint64_t offset,
                                    std::span<std::uint8_t> out) {
  if (from.stream == Stream::kIn) return 0;
  switch (DeviceAt(from.place)) {
    case Device::kNone:
      return tree_.Read(from.place, offset, out);
    case Device::kNull:
      return 0;
    case Device::kZero:
      out = out.first(std::min(out.size(), kMaxDeviceRead));
      std::ranges::fill(out, std::uint8_t{0});
      return out.size();
    case Device::kRandom:
      out = out.first(std::min(out.size(), kMaxRandomRead));
      services_.Random(out);
      return out.size();
  }
  return std::unexpected(Errno::kBadf);
}

Io<std::size_t> CellFiles::Transfer(const Descriptor& to, std::uint64_t offset,
                                    std::span<const std::uint8_t> data) {
  if (DeviceAt(to.place) != Device::kNone) return data.size();
  if (!MayChange(to.place)) return std::unexpected(Errno::kBadf);
  if (data.empty()) return 0;
  return tree_.Write(to.place.node, offset, data, services_.Now());
}

Io<std::size_t> CellFiles::Read(std::uint32_t fd, std::span<std::uint8_t> out) {
  const Io<Descriptor*> found = FindReadable(fd);
  if (!found) return std::unexpected(found.error());
  const Io<std::size_t> done = Transfer(**found, (*found)->offset, out);
  if (done && *done > 0 && DeviceAt((*found)->place) == Device::kNone) {
    (*found)->offset += *done;
  }
  return done;
}

Io<std::size_t> CellFiles::Write(std::uint32_t fd, std::span<const std::uint8_t> data) {
  const Io<Descriptor*> found = FindWritable(fd);
  if (!found) return std::unexpected(found.error());
  Descriptor& to = **found;
  const std::uint64_t offset = (to.flags & kAppend) != 0 ? tree_.Stat(to.place).size : to.offset;
  const Io<std::size_t> done = Transfer(to, offset, data);
  if (done && *done > 0 && DeviceAt(to.place) == Device::kNone) to.offset = offset + *done;
  return done;
}

Io<std::size_t> CellFiles::ReadAt(std::uint32_t fd, std::uint64_t offset,
                                  std::span<std::uint8_t> out) {
  const Io<Descriptor*> found = FindReadable(fd);
  if (!found) return std::unexpected(found.error());
  if ((*found)->stream != Stream::kNone) return std::unexpected(Errno::kSpipe);
  if (offset > kMaxOffset) return std::unexpected(Errno::kInval);
  return Transfer(**found, offset, out);
}

Io<std::size_t> CellFiles::WriteAt(std::uint32_t fd, std::uint64_t offset,
                                   std::span<const std::uint8_t> data) {
  if (const Descriptor* stream = Find(fd);
      stream != nullptr && stream->write && stream->stream != Stream::kNone) {
    return std::unexpected(Errno::kSpipe);
  }
  const Io<Descriptor*> found = FindWritable(fd);
  if (!found) return std::unexpected(found.error());
  if (offset > kMaxOffset) return std::unexpected(Errno::kInval);
  return Transfer(**found, offset, data);
}

Io<std::uint64_t> CellFiles::Seek(std::uint32_t fd, std::int64_t offset, Whence whence) {
  Descriptor* found = Find(fd);
  if (found == nullptr) return std::unexpected(Errno::kBadf);
  if (found->stream != Stream::kNone) return std::unexpected(Errno::kSpipe);
  if (tree_.IsDirectory(found->place)) return std::unexpected(Errno::kIsdir);
  if (DeviceAt(found->place) != Device::kNone) return 0;
  std::uint64_t base = 0;
  if (whence == Whence::kCurrent) base = found->offset;
  if (whence == Whence::kEnd) base = tree_.Stat(found->place).size;
  // Both are at most kMaxOffset, so the unsigned sum cannot wrap, and is negative if out of range.
  const std::uint64_t target = base + static_cast<std::uint64_t>(offset);
  if (target > kMaxOffset) {
    return std::unexpected(offset < 0 ? Errno::kInval : Errno::kOverflow);
  }
  found->offset = target;
  return target;
}

// ---- Attributes ----

Io<FileStat> CellFiles::Stat(std::uint32_t fd) {
  const Descriptor* found = Find(fd);
  if (found == nullptr) return std::unexpected(Errno::kBadf);
  if (found->stream != Stream::kNone) {
    return FileStat{.type = FileType::kDevice,
                    .accessed = kUntouchedTime,
                    .modified = kUntouchedTime,
                    .changed = kUntouchedTime};
  }
  return tree_.Stat(found->place);
}

Io<FileStat> CellFiles::Stat(std::uint32_t directory, std::string_view path) {
  const Io<Walked> walked = Walk(directory, path);
  if (!walked) return std::unexpected(walked.error());
  if (walked->place.empty()) return std::unexpected(Errno::kNoent);
  if (walked->must_be_directory && !tree_.IsDirectory(walked->place)) {
    return std::unexpected(Errno::kNotdir);
  }
  return tree_.Stat(walked->place);
}

Errno CellFiles::SetSize(std::uint32_t fd, std::uint64_t size) {
  const Io<Descriptor*> found = FindWritable(fd);
  if (!found) return Find(fd) == nullptr ? Errno::kBadf : Errno::kInval;
  if (!MayChange((*found)->place) || size > kMaxOffset) return Errno::kInval;
  return tree_.Resize((*found)->place.node, size, services_.Now());
}

Errno CellFiles::Allocate(std::uint32_t fd, std::uint64_t offset, std::uint64_t length) {
  const Io<Descriptor*> found = FindWritable(fd);
  if (!found) return found.error();
  if (!MayChange((*found)->place)) return Errno::kInval;
  if (length == 0 || offset > kMaxOffset || length > kMaxOffset) return Errno::kInval;
  if (offset + length > kMaxOffset) return Errno::kFbig;
  if (offset + length <= tree_.Stat((*found)->place).size) return Errno::kSuccess;
  return tree_.Resize((*found)->place.node, offset + length, services_.Now());
}

Errno CellFiles::SetTimesAt(Place place, std::optional<std::uint64_t> accessed,
                            std::optional<std::uint64_t> modified) {
  if (!MayChange(place)) return Errno::kRofs;
  if (accessed || modified) tree_.SetTimes(place.node, accessed, modified, services_.Now());
  return Errno::kSuccess;
}

Errno CellFiles::SetTimes(std::uint32_t fd, std::optional<std::uint64_t> accessed,
                          std::optional<std::uint64_t> modified) {
  const Descriptor* found = Find(fd);
  if (found == nullptr) return Errno::kBadf;
  if (found->stream != Stream::kNone) return Errno::kInval;
  return SetTimesAt(found->place, accessed, modified);
}

Errno CellFiles::SetTimes(std::uint32_t directory, std::string_view path,
                          std::optional<std::uint64_t> accessed,
                          std::optional<std::uint64_t> modified) {
  const Io<Walked> walked = Walk(directory, path);
  if (!walked) return walked.error();
  if (walked->place.empty()) return Errno::kNoent;
  if (walked->must_be_directory && !tree_.IsDirectory(walked->place)) return Errno::kNotdir;
  return SetTimesAt(walked->place, accessed, modified);
}

// ---- Directories ----

Io<std::optional<DirectoryEntry>> CellFiles::EntryAt(std::uint32_t fd, std::uint64_t cookie) {
  const Descriptor* found = Find(fd);
  if (found == nullptr) return std::unexpected(Errno::kBadf);
  if (found->stream != Stream::kNone || !tree_.IsDirectory(found->place)) {
    return std::unexpected(Errno::kNotdir);
  }
  if (const Errno unknown = tree_.EnsureListed(found->place); unknown != Errno::kSuccess) {
    return std::unexpected(unknown);
  }
  return tree_.EntryAt(found->place, cookie);
}

Errno CellFiles::MakeDirectory(std::uint32_t directory, std::string_view path) {
  const Io<Walked> walked = Walk(directory, path);
  if (!walked) return walked.error();
  if (!walked->place.empty()) return Errno::kExist;
  const Io<NodeId> parent = ChangeableParent(*walked);
  if (!parent) return parent.error();
  const auto made = tree_.Create(*parent, walked->name, FileType::kDirectory, services_.Now());
  return made ? Errno::kSuccess : made.error();
}

Errno CellFiles::RemoveDirectory(std::uint32_t directory, std::string_view path) {
  const Io<Walked> walked = Walk(directory, path);
  if (!walked) return walked.error();
  if (walked->place.empty()) return Errno::kNoent;
  if (!tree_.IsDirectory(walked->place)) return Errno::kNotdir;
  if (walked->name.empty()) return Errno::kInval;  // "." or ".."
  const Io<NodeId> parent = ChangeableParent(*walked);
  if (!parent) return parent.error();
  if (const Errno unknown = tree_.EnsureListed(walked->place); unknown != Errno::kSuccess) {
    return unknown;
  }
  if (!tree_.node(walked->place.node).entries.names.empty()) return Errno::kNotempty;
  tree_.Remove(*parent, walked->name, services_.Now());
  return Errno::kSuccess;
}

Errno CellFiles::Unlink(std::uint32_t directory, std::string_view path) {
  const Io<Walked> walked = Walk(directory, path);
  if (!walked) return walked.error();
  if (walked->place.empty()) return Errno::kNoent;
  if (tree_.IsDirectory(walked->place)) return Errno::kIsdir;
  if (walked->must_be_directory) return Errno::kNotdir;
  const Io<NodeId> parent = ChangeableParent(*walked);
  if (!parent) return parent.error();
  tree_.Remove(*parent, walked->name, services_.Now());
  return Errno::kSuccess;
}

Errno CellFiles::Rename(std::uint32_t old_directory, std::string_view old_path,
                        std::uint32_t new_directory, std::string_view new_path) {
  const Io<Walked> from = Walk(old_directory, old_path);
  if (!from) return from.error();
  const Io<Walked> to = Walk(new_directory, new_path);
  if (!to) return to.error();
  if (from->place.empty()) return Errno::kNoent;
  if (from->name.empty() || to->name.empty()) return Errno::kInval;  // ".", ".." or the root
  const Io<NodeId> source = ChangeableParent(*from);
  const Io<NodeId> target = ChangeableParent(*to);
  if (!source || !target) return Errno::kRofs;
  if (tree_.node(*source).mount != tree_.node(*target).mount) return Errno::kXdev;
  const bool is_directory = tree_.IsDirectory(from->place);
  if (!is_directory && (from->must_be_directory || to->must_be_directory)) return Errno::kNotdir;
  if (from->place == to->place) return Errno::kSuccess;
  if (tree_.IsBelow(*target, from->place.node)) return Errno::kInval;  // Into itself.
  if (!to->place.empty()) {
    const bool onto_directory = tree_.IsDirectory(to->place);
    if (is_directory && !onto_directory) return Errno::kNotdir;
    if (!is_directory && onto_directory) return Errno::kIsdir;
    if (onto_directory) {
      const Errno unknown = tree_.EnsureListed(to->place);
      if (unknown != Errno::kSuccess) return unknown;
    }
    if (!tree_.node(to->place.node).entries.names.empty()) return Errno::kNotempty;
  }
  if (const Errno fixed = tree_.MakeMovable(from->place.node, *target, to->name);
      fixed != Errno::kSuccess) {
    return fixed;
  }
  const std::uint64_t now = services_.Now();
  if (!to->place.empty()) tree_.Remove(*target, to->name, now);
  tree_.Move(*source, from->name, *target, to->name, now);
  return Errno::kSuccess;
}

}  // namespace caisson::worker
