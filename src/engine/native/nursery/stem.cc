#include "engine/native/nursery/stem.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace caisson::nursery {

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
  void* const scratch = ::mmap(nullptr, sizeof(Scratch), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (scratch == MAP_FAILED) return Error::FromErrno(errno, "map a scratch");
  stem.scratch_ = static_cast<Scratch*>(scratch);
  TRY_ASSIGN(stem.mappings_, ReadMaps(maps));
  return stem;
}

void Stem::Sweep() const {
  ::madvise(scratch_, sizeof(Scratch), MADV_DONTNEED);
}

}  // namespace caisson::nursery
