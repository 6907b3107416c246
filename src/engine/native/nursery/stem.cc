#include "engine/native/nursery/stem.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "engine/native/nursery/page_tables.h"

namespace caisson::nursery {
namespace {

void* MapScratch(void* where, int flags) {
  return ::mmap(where, sizeof(Scratch), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

}  // namespace

Result<std::vector<MemoryMapping>> ReadMaps(const UniqueFd& maps) {
  std::string text;
  std::array<char, 4096> buffer{};
  ::lseek(maps.get(), 0, SEEK_SET);
  while (true) {
    const ssize_t got = ::read(maps.get(), buffer.data(), buffer.size());
    if (got < 0) return Error::FromErrno(errno, "read what is mapped");
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return ParseMemoryMaps(text);
}

Result<Stem> Stem::Take(const UniqueFd& maps) {
  Stem stem;
  void* const scratch = MapScratch(nullptr, 0);
  if (scratch == MAP_FAILED) return Error::FromErrno(errno, "map a scratch");
  stem.scratch_ = static_cast<Scratch*>(scratch);
  TRY_ASSIGN(stem.mappings_, ReadMaps(maps));
  const auto is_pristine = [](const MemoryMapping& mapping) {
    return mapping.access == "r--p" && mapping.path == kMemoryFile;
  };
  const auto found = std::ranges::find_if(stem.mappings_, is_pristine);
  if (found != stem.mappings_.end()) stem.pristine_ = *found;
  return stem;
}

const char* Stem::Pristine(const MemoryMapping& mapping) const {
  if (!pristine_ || mapping.inode != pristine_->inode || mapping.device != pristine_->device ||
      mapping.offset + mapping.size() > pristine_->size()) {
    return nullptr;
  }
  return At(pristine_->begin + mapping.offset);
}

void Stem::Sweep() const {
  MapScratch(scratch_, MAP_FIXED);
}

}  // namespace caisson::nursery
