#include "engine/native/forkserver/baseline.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/memory_maps.h"
#include "engine/native/forkserver/page_tables.h"

namespace caisson::forkserver {
namespace {

constexpr std::size_t kMostMappings = 4096;

wire::ProcessMapEntry AsProcessMapEntry(const MemoryMapping& mapping) {
  return {.begin = mapping.begin,
          .end = mapping.end,
          .offset = mapping.offset,
          .device = mapping.device,
          .inode = mapping.inode,
          .access = (mapping.access[0] == 'r' ? wire::kMayRead : 0u) |
                    (mapping.access[1] == 'w' ? wire::kMayWrite : 0u) |
                    (mapping.access[2] == 'x' ? wire::kMayExecute : 0u) |
                    (mapping.access[3] == 's' ? wire::kIsShared : 0u),
          .path_length = 0};
}

void* MapScratch(void* where, int flags) {
  return ::mmap(where, sizeof(Scratch), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

}  // namespace

Result<Baseline> Baseline::Take(const UniqueFd& maps) {
  Baseline baseline;
  void* const scratch = MapScratch(nullptr, 0);
  void* const list = ::mmap(nullptr, kMostMappings * sizeof(wire::ProcessMapEntry),
                            PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (scratch == MAP_FAILED || list == MAP_FAILED) return Error::FromErrno(errno, "map a scratch");
  baseline.scratch_ = static_cast<Scratch*>(scratch);
  TRY(baseline.List(maps, {static_cast<wire::ProcessMapEntry*>(list), kMostMappings}));
  baseline.Sweep();
  return baseline;
}

Result<void> Baseline::List(const UniqueFd& maps, std::span<wire::ProcessMapEntry> room) {
  const auto text = std::span(scratch_->plan);
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<std::size_t>(got)) {
    got = ::read(maps.get(), text.data() + size, text.size() - size);
    if (got < 0) return Error::FromErrno(errno, "read what is mapped");
  }
  std::size_t count = 0;
  for (std::string_view rest(text.data(), size); !rest.empty(); ++count) {
    const std::optional<MemoryMapping> mapping = TakeMemoryMapping(rest);
    if (!mapping || count == room.size()) {
      return Error(ErrorCode::kInternal, "a list of mappings makes no sense");
    }
    room[count] = AsProcessMapEntry(*mapping);
    const bool is_pristine = mapping->access == "r--p" && mapping->path == kMemoryFile;
    if (is_pristine) pristine_ = room[count];
  }
  mappings_ = room.first(count);
  return {};
}

const char* Baseline::Pristine(const wire::ProcessMapEntry& mapping) const {
  if (!pristine_ || mapping.inode != pristine_->inode || mapping.device != pristine_->device ||
      mapping.offset + (mapping.end - mapping.begin) > pristine_->end - pristine_->begin) {
    return nullptr;
  }
  return At(pristine_->begin + mapping.offset);
}

void Baseline::Sweep() const {
  MapScratch(scratch_, MAP_FIXED);
}

}  // namespace caisson::forkserver
