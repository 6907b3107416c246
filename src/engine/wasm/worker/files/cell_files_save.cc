// Saves and restores a cell's files: a header, the writable tree, the open descriptors.
//
// A descriptor names its file by the number of its node in the blob or, for immutable files, by
// path: the library and the host's input files are not in the blob.

#include <algorithm>
#include <limits>

#include "engine/wasm/worker/files/cell_files.h"

namespace caisson::worker {
namespace {

constexpr std::uint64_t kMagic = 0x3253454c49464943;  // "CIFILES2"

enum class Target : std::uint8_t { kStream = 0, kNode = 1, kPath = 2 };

enum Access : std::uint8_t { kRead = 1, kWrite = 2, kPreopened = 4, kKnownAccess = 7 };

Error Malformed(std::string_view what) {
  return {ErrorCode::kInvalidArgument, "saved descriptors: " + std::string(what)};
}

}  // namespace

void CellFiles::Save(std::string& out) const {
  ByteWriter writer(out);
  writer.Put(kMagic);
  const std::vector<std::uint32_t> numbers = tree_.Save(writer);
  writer.Put(static_cast<std::uint32_t>(std::ranges::count(descriptors_, true, &Descriptor::open)));
  for (std::uint32_t fd = 0; fd < descriptors_.size(); ++fd) {
    const Descriptor& saved = descriptors_[fd];
    if (!saved.open) continue;
    writer.Put(fd);
    writer.Put(static_cast<std::uint8_t>((saved.read ? kRead : 0) | (saved.write ? kWrite : 0) |
                                         (saved.preopened ? kPreopened : 0)));
    writer.Put(saved.flags);
    writer.Put(saved.offset);
    if (saved.stream != Stream::kNone) {
      writer.Put(Target::kStream);
      writer.Put(saved.stream);
      continue;
    }
    const auto node = static_cast<std::size_t>(saved.place.node);
    if (node < numbers.size() && numbers[node] != FileTree::kNoNumber) {
      writer.Put(Target::kNode);
      writer.Put(numbers[node]);
    } else {
      writer.Put(Target::kPath);
      writer.PutText(tree_.PathOf(saved.place));
    }
  }
}

Result<void> CellFiles::Restore(std::span<const std::uint8_t> saved) {
  ByteReader reader(saved);
  auto restore = [&]() -> Result<void> {
    if (reader.Get<std::uint64_t>() != kMagic) return Malformed("not a saved cell's files");
    TRY_ASSIGN(const std::vector<NodeId> nodes, tree_.Restore(reader));
    // Held while descriptors are made, so that removed files survive; those that are not open are
    // released afterwards.
    for (const NodeId id : nodes) tree_.Hold(id);
    Result<void> result = RestoreDescriptors(reader, nodes);
    for (const NodeId id : nodes) tree_.Release(id);
    return result;
  };
  dirty_ = true;
  Result<void> result = restore();
  if (!result) Reset();
  return result;
}

Result<void> CellFiles::RestoreDescriptors(ByteReader& in, const std::vector<NodeId>& nodes) {
  for (Descriptor& descriptor : descriptors_) Release(descriptor);
  descriptors_.clear();
  const auto count = in.Get<std::uint32_t>();
  if (count > max_descriptors_) return Malformed("more open files than the cell may have");
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto fd = in.Get<std::uint32_t>();
    if (!in.ok() || fd < descriptors_.size() || fd >= max_descriptors_) return Malformed("number");
    TRY_ASSIGN(const Descriptor descriptor, RestoreDescriptor(in, nodes));
    descriptors_.resize(fd + 1);
    descriptors_[fd] = descriptor;
    if (!descriptor.preopened && descriptor.place.node != NodeId::kNone) {
      tree_.Hold(descriptor.place.node);
    }
  }
  if (!in.ok() || !in.AtEnd()) return Malformed("length");
  return {};
}

Result<CellFiles::Descriptor> CellFiles::RestoreDescriptor(ByteReader& in,
                                                           const std::vector<NodeId>& nodes) {
  const auto access = in.Get<std::uint8_t>();
  Descriptor made{.open = true,
                  .read = (access & kRead) != 0,
                  .write = (access & kWrite) != 0,
                  .preopened = (access & kPreopened) != 0};
  made.flags = in.Get<std::uint16_t>();
  made.offset = in.Get<std::uint64_t>();
  if ((access & ~kKnownAccess) != 0 || (made.flags & ~kKnownFlags) != 0 ||
      made.offset > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return Malformed("flags");
  }
  switch (Target{in.Get<std::uint8_t>()}) {
    case Target::kStream: {
      const auto stream = in.Get<std::uint8_t>();
      if (stream < 1 || stream > 3) return Malformed("stream");
      made.stream = Stream{stream};
      // A stream only ever has its own direction.
      if (made.preopened || made.read != (made.stream == Stream::kIn) || made.read == made.write) {
        return Malformed("stream");
      }
      return made;
    }
    case Target::kNode: {
      const auto number = in.Get<std::uint32_t>();
      if (number >= nodes.size()) return Malformed("node");
      made.place = {.node = nodes[number]};
      if (made.write && !MayChange(made.place)) return Malformed("write");
      break;
    }
    case Target::kPath: {
      const auto walked = tree_.Walk({.node = NodeId::kRoot}, in.GetText());
      if (!walked || walked->place.empty()) return Malformed("a file it had open is not here");
      made.place = walked->place;
      if (made.write && DeviceAt(made.place) == Device::kNone) return Malformed("write");
      break;
    }
    default:
      return Malformed("target");
  }
  if (!in.ok()) return Malformed("cut off");
  if (made.preopened && made.place.node != NodeId::kRoot) return Malformed("preopened");
  if (made.write && tree_.IsDirectory(made.place)) return Malformed("write");
  return made;
}

}  // namespace caisson::worker
