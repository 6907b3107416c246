#include "engine/wasm/worker/wasi.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

namespace caisson::worker {
namespace {

using U32 = WasiShim::U32;
using U64 = WasiShim::U64;

// The layouts of wasi-libc's <wasi/api.h>.
struct Buffer {
  U32 address;
  U32 length;
};
static_assert(sizeof(Buffer) == 8);

struct Fdstat {
  std::uint8_t type = 0;
  std::uint8_t padding = 0;
  std::uint16_t flags = 0;
  U32 more_padding = 0;
  U64 rights = 0;
  U64 inheriting = 0;
};
static_assert(sizeof(Fdstat) == 24);

struct Filestat {
  U64 device = 0;
  U64 inode = 0;
  std::uint8_t type = 0;
  std::uint8_t padding[7] = {};
  U64 links = 0;
  U64 size = 0;
  U64 accessed = 0;
  U64 modified = 0;
  U64 changed = 0;
};
static_assert(sizeof(Filestat) == 64);

struct Dirent {
  U64 next = 0;
  U64 inode = 0;
  U32 name_bytes = 0;
  std::uint8_t type = 0;
  std::uint8_t padding[3] = {};
};
static_assert(sizeof(Dirent) == 24);

struct Prestat {
  std::uint8_t tag = 0;  // A directory.
  std::uint8_t padding[3] = {};
  U32 name_bytes = 0;
};
static_assert(sizeof(Prestat) == 8);

constexpr std::string_view kRootName = "/";

constexpr U64 kFdRead = U64{1} << 1;
constexpr U64 kFdWrite = U64{1} << 6;
constexpr U64 kAllRights = (U64{1} << 30) - 1;

constexpr U32 kCreate = 1;
constexpr U32 kDirectory = 2;
constexpr U32 kExclusive = 4;
constexpr U32 kTruncate = 8;

// A guest's ssize_t cannot hold more.
constexpr U64 kMaxCount = std::numeric_limits<std::int32_t>::max();

constexpr U32 kAccessed = 1;
constexpr U32 kAccessedNow = 2;
constexpr U32 kModified = 4;
constexpr U32 kModifiedNow = 8;

struct Times {
  std::optional<U64> accessed;
  std::optional<U64> modified;
};

std::optional<Times> TimesFrom(U64 accessed, U64 modified, U32 flags, CellServices& services) {
  if (flags > 15 || ((flags & kAccessed) != 0 && (flags & kAccessedNow) != 0) ||
      ((flags & kModified) != 0 && (flags & kModifiedNow) != 0)) {
    return std::nullopt;
  }
  Times times;
  if ((flags & kAccessed) != 0) times.accessed = accessed;
  if ((flags & kModified) != 0) times.modified = modified;
  if ((flags & (kAccessedNow | kModifiedNow)) != 0) {
    const U64 now = services.Now();
    if ((flags & kAccessedNow) != 0) times.accessed = now;
    if ((flags & kModifiedNow) != 0) times.modified = now;
  }
  return times;
}

}  // namespace

// ---- Strings, clock, randomness ----

Errno WasiShim::StoreSizes(std::span<const std::string_view> strings, U32 count, U32 text_bytes) {
  U32 bytes = 0;
  for (const std::string_view string : strings) bytes += static_cast<U32>(string.size()) + 1;
  const bool stored = memory_.Range(text_bytes, sizeof bytes).has_value() &&
                      memory_.Store(count, static_cast<U32>(strings.size())) &&
                      memory_.Store(text_bytes, bytes);
  return stored ? Errno::kSuccess : Errno::kFault;
}

Errno WasiShim::StoreStrings(std::span<const std::string_view> strings, U32 pointers, U32 text) {
  U64 bytes = 0;
  for (const std::string_view string : strings) bytes += string.size() + 1;
  const auto table = memory_.Range(pointers, strings.size() * sizeof(U32));
  const auto target = memory_.Range(text, bytes);
  if (!table || !target) return Errno::kFault;
  std::size_t done = 0;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const U32 address = text + static_cast<U32>(done);
    std::memcpy(table->data() + i * sizeof address, &address, sizeof address);
    std::ranges::copy(strings[i], target->begin() + static_cast<std::ptrdiff_t>(done));
    done += strings[i].size();
    (*target)[done++] = 0;
  }
  return Errno::kSuccess;
}

Errno WasiShim::ArgsGet(U32 pointers, U32 text) {
  return StoreStrings(services_.Arguments(), pointers, text);
}

Errno WasiShim::ArgsSizesGet(U32 count, U32 text_bytes) {
  return StoreSizes(services_.Arguments(), count, text_bytes);
}

Errno WasiShim::EnvironGet(U32 pointers, U32 text) {
  return StoreStrings(services_.Environment(), pointers, text);
}

Errno WasiShim::EnvironSizesGet(U32 count, U32 text_bytes) {
  return StoreSizes(services_.Environment(), count, text_bytes);
}

Errno WasiShim::ClockResGet(U32 id, U32 result) {
  if (id > static_cast<U32>(ClockId::kThreadCpu)) return Errno::kInval;
  return memory_.Store(result, U64{1}) ? Errno::kSuccess : Errno::kFault;
}

Errno WasiShim::ClockTimeGet(U32 id, U64 /*precision*/, U32 result) {
  if (id > static_cast<U32>(ClockId::kThreadCpu)) return Errno::kInval;
  // Reading a clock may advance it, so check the address first.
  if (!memory_.Range(result, sizeof(U64))) return Errno::kFault;
  return memory_.Store(result, services_.Clock(ClockId{id})) ? Errno::kSuccess : Errno::kFault;
}

Errno WasiShim::RandomGet(U32 buffer, U32 length) {
  const auto range = memory_.Range(buffer, length);
  if (!range) return Errno::kFault;
  if (length > kMaxRandomBytes) return Errno::kInval;
  const auto rest = range->subspan(static_cast<std::size_t>(progress_.done));
  const auto slice = rest.first(std::min<std::size_t>(rest.size(), kSliceRandomBytes));
  services_.Random(slice);
  progress_.done += slice.size();
  return progress_.done < length ? Errno::kUnfinished : Errno::kSuccess;
}

// ---- Descriptors ----

Errno WasiShim::CheckOpen(U32 fd) {
  const auto info = files_.Describe(fd);
  return info ? Errno::kSuccess : info.error();
}

Errno WasiShim::NoSocket(U32 fd) {
  const auto info = files_.Describe(fd);
  return info ? Errno::kNotsock : info.error();
}

Errno WasiShim::FdAdvise(U32 fd, U64 /*offset*/, U64 /*length*/, U32 advice) {
  const auto info = files_.Describe(fd);
  if (!info) return info.error();
  if (info->stream != Stream::kNone) return Errno::kSpipe;
  return advice > 5 ? Errno::kInval : Errno::kSuccess;
}

Errno WasiShim::FdFdstatGet(U32 fd, U32 result) {
  const auto info = files_.Describe(fd);
  if (!info) return info.error();
  Fdstat stat;
  stat.type = static_cast<std::uint8_t>(info->type);
  stat.flags = info->flags;
  stat.rights = kAllRights;
  stat.inheriting = kAllRights;
  // libc treats a device that cannot seek as a terminal. The streams are not terminals, so they
  // keep that right.
  if (info->type != FileType::kDirectory) {
    stat.inheriting = 0;
    if (!info->read) stat.rights &= ~kFdRead;
    if (!info->write) stat.rights &= ~kFdWrite;
  }
  return memory_.Store(result, stat) ? Errno::kSuccess : Errno::kFault;
}

Errno WasiShim::FdFdstatSetFlags(U32 fd, U32 flags) {
  if (flags > CellFiles::kKnownFlags) return Errno::kInval;
  return files_.SetFlags(fd, static_cast<std::uint16_t>(flags));
}

Errno WasiShim::FdFdstatSetRights(U32 fd, U64 /*base*/, U64 /*inheriting*/) {
  const Errno open = CheckOpen(fd);
  return open == Errno::kSuccess ? Errno::kNotsup : open;
}

Errno WasiShim::StoreStat(const Io<FileStat>& stat, U32 result) {
  if (!stat) return stat.error();
  Filestat out;
  out.device = 1;
  out.inode = stat->inode;
  out.type = static_cast<std::uint8_t>(stat->type);
  out.links = stat->links;
  out.size = stat->size;
  out.accessed = stat->accessed;
  out.modified = stat->modified;
  out.changed = stat->changed;
  return memory_.Store(result, out) ? Errno::kSuccess : Errno::kFault;
}

Errno WasiShim::FdFilestatGet(U32 fd, U32 result) {
  return StoreStat(files_.Stat(fd), result);
}

Errno WasiShim::FdFilestatSetTimes(U32 fd, U64 accessed, U64 modified, U32 flags) {
  const auto times = TimesFrom(accessed, modified, flags, services_);
  return times ? files_.SetTimes(fd, times->accessed, times->modified) : Errno::kInval;
}

Errno WasiShim::FdPrestatGet(U32 fd, U32 result) {
  const auto info = files_.Describe(fd);
  if (!info || !info->preopened) return Errno::kBadf;
  Prestat prestat;
  prestat.name_bytes = static_cast<U32>(kRootName.size());
  return memory_.Store(result, prestat) ? Errno::kSuccess : Errno::kFault;
}

Errno WasiShim::FdPrestatDirName(U32 fd, U32 path, U32 length) {
  const auto info = files_.Describe(fd);
  if (!info || !info->preopened) return Errno::kBadf;
  if (length < kRootName.size()) return Errno::kNametoolong;
  const auto range = memory_.Range(path, length);
  if (!range) return Errno::kFault;
  std::ranges::copy(kRootName, range->begin());
  return Errno::kSuccess;
}

Errno WasiShim::FdSeek(U32 fd, U64 offset, U32 whence, U32 result) {
  if (whence > static_cast<U32>(Whence::kEnd)) return Errno::kInval;
  if (!memory_.Range(result, sizeof(U64))) return Errno::kFault;
  const auto position =
      files_.Seek(fd, static_cast<std::int64_t>(offset), Whence{static_cast<std::uint8_t>(whence)});
  if (!position) return position.error();
  return memory_.Store(result, *position) ? Errno::kSuccess : Errno::kFault;
}

Errno WasiShim::FdTell(U32 fd, U32 result) {
  return FdSeek(fd, 0, static_cast<U32>(Whence::kCurrent), result);
}

// ---- Bytes ----

Errno WasiShim::CheckBuffers(U32 buffers, U32 count, U32 result) const {
  if (count > kMaxBuffers) return Errno::kInval;
  const auto list = memory_.Range(buffers, U64{count} * sizeof(Buffer));
  if (!list || !memory_.Range(result, sizeof(U32))) return Errno::kFault;
  U64 total = 0;
  for (U32 i = 0; i < count; ++i) {
    Buffer buffer;
    std::memcpy(&buffer, list->data() + i * sizeof buffer, sizeof buffer);
    if (!memory_.Range(buffer.address, buffer.length)) return Errno::kFault;
    total += buffer.length;
  }
  return total > kMaxCount ? Errno::kInval : Errno::kSuccess;
}

template <typename Step>
Errno WasiShim::Transfer(U32 buffers, U32 count, U32 result, U64 most, Step step) {
  U64& done = progress_.done;
  if (done == 0) {
    if (const Errno bad = CheckBuffers(buffers, count, result); bad != Errno::kSuccess) return bad;
  }
  U64 left = kSliceBytes;
  // Without a buffer the descriptor is still checked.
  for (U32& i = progress_.buffer; i < std::max<U32>(count, 1);) {
    std::span<std::uint8_t> range;
    if (count > 0) {
      // Loaded again: the data just read may have overwritten the list itself.
      const auto buffer = memory_.Load<Buffer>(buffers + i * static_cast<U32>(sizeof(Buffer)));
      if (!buffer || buffer->length < progress_.at) break;
      const auto checked = memory_.Range(buffer->address, buffer->length);
      if (!checked) break;
      range = checked->subspan(progress_.at);
    }
    const auto part =
        range.first(static_cast<std::size_t>(std::min<U64>({range.size(), left, most - done})));
    const Io<std::size_t> moved = step(part, done);
    if (!moved && done == 0) return moved.error();
    if (!moved) break;
    done += *moved;
    left -= *moved;
    if (*moved < part.size() || done >= most) break;
    if (part.size() < range.size()) {
      progress_.at += static_cast<U32>(part.size());
    } else {
      progress_.at = 0;
      ++i;
    }
    if (left == 0 && i < count) return Errno::kUnfinished;
  }
  return memory_.Store(result, static_cast<U32>(done)) ? Errno::kSuccess : Errno::kFault;
}

// A device never ends, and random bytes are expensive.
U64 WasiShim::MostOf(U32 fd) {
  const auto info = files_.Describe(fd);
  const bool device = info && info->type == FileType::kDevice && info->stream == Stream::kNone;
  return device ? kMaxDeviceTransferBytes : kMaxTransferBytes;
}

Errno WasiShim::FdRead(U32 fd, U32 buffers, U32 count, U32 result) {
  return Transfer(buffers, count, result, MostOf(fd),
                  [&](std::span<std::uint8_t> range, U64) { return files_.Read(fd, range); });
}

Errno WasiShim::FdPread(U32 fd, U32 buffers, U32 count, U64 offset, U32 result) {
  return Transfer(buffers, count, result, MostOf(fd), [&](std::span<std::uint8_t> range, U64 done) {
    return files_.ReadAt(fd, offset + done, range);
  });
}

Errno WasiShim::FdWrite(U32 fd, U32 buffers, U32 count, U32 result) {
  const auto info = files_.Describe(fd);
  if (!info) return info.error();
  const Stream stream = info->stream;
  return Transfer(buffers, count, result, kMaxTransferBytes,
                  [&](std::span<std::uint8_t> range, U64) -> Io<std::size_t> {
                    if (stream != Stream::kOut && stream != Stream::kErr) {
                      return files_.Write(fd, range);
                    }
                    if (!range.empty()) services_.Write(stream, range);
                    return range.size();
                  });
}

Errno WasiShim::FdPwrite(U32 fd, U32 buffers, U32 count, U64 offset, U32 result) {
  return Transfer(buffers, count, result, kMaxTransferBytes,
                  [&](std::span<std::uint8_t> range, U64 done) {
                    return files_.WriteAt(fd, offset + done, range);
                  });
}

// ---- Directories and paths ----

Errno WasiShim::FdReaddir(U32 fd, U32 buffer, U32 length, U64 cookie, U32 result) {
  const auto range = memory_.Range(buffer, length);
  if (!range || !memory_.Range(result, sizeof(U32))) return Errno::kFault;
  if (progress_.done == 0) progress_.cookie = cookie;
  // An entry that does not fit is truncated: a full buffer tells the guest to call again.
  std::span<std::uint8_t> rest = range->subspan(static_cast<std::size_t>(progress_.done));
  const auto put = [&rest](const void* bytes, std::size_t size) {
    size = std::min(size, rest.size());
    if (size > 0) std::memcpy(rest.data(), bytes, size);
    rest = rest.subspan(size);
  };
  U32 entries = 0;
  do {
    if (entries++ == kSliceEntries) return Errno::kUnfinished;
    const auto entry = files_.EntryAt(fd, progress_.cookie);
    if (!entry) return entry.error();
    const std::optional<DirectoryEntry>& next = *entry;
    if (!next) break;
    Dirent dirent;
    dirent.next = progress_.cookie = next->next_cookie;
    dirent.inode = next->inode;
    dirent.name_bytes = static_cast<U32>(next->name.size());
    dirent.type = static_cast<std::uint8_t>(next->type);
    put(&dirent, sizeof dirent);
    put(next->name.data(), next->name.size());
    progress_.done = range->size() - rest.size();
  } while (!rest.empty());
  return memory_.Store(result, static_cast<U32>(progress_.done)) ? Errno::kSuccess : Errno::kFault;
}

Errno WasiShim::PathCreateDirectory(U32 fd, U32 path, U32 length) {
  const auto text = memory_.Text(path, length);
  return text ? files_.MakeDirectory(fd, *text) : Errno::kFault;
}

Errno WasiShim::PathFilestatGet(U32 fd, U32 /*lookup*/, U32 path, U32 length, U32 result) {
  const auto text = memory_.Text(path, length);
  return text ? StoreStat(files_.Stat(fd, *text), result) : Errno::kFault;
}

Errno WasiShim::PathFilestatSetTimes(U32 fd, U32 /*lookup*/, U32 path, U32 length, U64 accessed,
                                     U64 modified, U32 flags) {
  const auto text = memory_.Text(path, length);
  if (!text) return Errno::kFault;
  const auto times = TimesFrom(accessed, modified, flags, services_);
  return times ? files_.SetTimes(fd, *text, times->accessed, times->modified) : Errno::kInval;
}

Errno WasiShim::PathOpen(U32 fd, U32 /*lookup*/, U32 path, U32 length, U32 open_flags, U64 rights,
                         U64 /*inheriting*/, U32 flags, U32 result) {
  const auto text = memory_.Text(path, length);
  if (!text || !memory_.Range(result, sizeof(U32))) return Errno::kFault;
  if (open_flags > (kCreate | kDirectory | kExclusive | kTruncate) ||
      flags > CellFiles::kKnownFlags) {
    return Errno::kInval;
  }
  const auto opened = files_.Open(fd, *text,
                                  {.create = (open_flags & kCreate) != 0,
                                   .exclusive = (open_flags & kExclusive) != 0,
                                   .truncate = (open_flags & kTruncate) != 0,
                                   .directory = (open_flags & kDirectory) != 0,
                                   .read = (rights & kFdRead) != 0,
                                   .write = (rights & kFdWrite) != 0,
                                   .flags = static_cast<std::uint16_t>(flags)});
  if (!opened) return opened.error();
  return memory_.Store(result, *opened) ? Errno::kSuccess : Errno::kFault;
}

Errno WasiShim::PathReadlink(U32 fd, U32 path, U32 length, U32 /*buffer*/, U32 /*buffer_bytes*/,
                             U32 /*result*/) {
  const auto text = memory_.Text(path, length);
  if (!text) return Errno::kFault;
  const auto stat = files_.Stat(fd, *text);
  return stat ? Errno::kInval : stat.error();  // There are no links.
}

Errno WasiShim::PathRemoveDirectory(U32 fd, U32 path, U32 length) {
  const auto text = memory_.Text(path, length);
  return text ? files_.RemoveDirectory(fd, *text) : Errno::kFault;
}

Errno WasiShim::PathRename(U32 old_fd, U32 old_path, U32 old_length, U32 new_fd, U32 new_path,
                           U32 new_length) {
  const auto from = memory_.Text(old_path, old_length);
  const auto to = memory_.Text(new_path, new_length);
  return from && to ? files_.Rename(old_fd, *from, new_fd, *to) : Errno::kFault;
}

Errno WasiShim::PathUnlinkFile(U32 fd, U32 path, U32 length) {
  const auto text = memory_.Text(path, length);
  return text ? files_.Unlink(fd, *text) : Errno::kFault;
}

}  // namespace caisson::worker
