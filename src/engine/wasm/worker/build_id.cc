#include "engine/wasm/worker/build_id.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstdlib>

namespace caisson::worker {
namespace {

constexpr std::uint64_t Aligned(std::uint64_t n) {
  return (n + 3) & ~std::uint64_t{3};
}

const std::uint8_t* FindInNotes(std::uint64_t at, std::uint64_t end) {
  while (at + sizeof(Elf64_Nhdr) <= end) {
    const auto* note = reinterpret_cast<const Elf64_Nhdr*>(at);
    const std::uint64_t description = at + sizeof *note + Aligned(note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz == kBuildIdBytes) {
      return reinterpret_cast<const std::uint8_t*>(description);
    }
    at = description + Aligned(note->n_descsz);
  }
  return nullptr;
}

}  // namespace

std::span<const std::uint8_t, kBuildIdBytes> BuildId() {
  // Linked without PIE: addresses in the program headers are absolute.
  const auto* headers = reinterpret_cast<const Elf64_Phdr*>(::getauxval(AT_PHDR));
  const std::uint64_t count = ::getauxval(AT_PHNUM);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_NOTE) continue;
    if (const auto* id = FindInNotes(headers[i].p_vaddr, headers[i].p_vaddr + headers[i].p_memsz)) {
      return std::span<const std::uint8_t, kBuildIdBytes>(id, kBuildIdBytes);
    }
  }
  std::abort();
}

}  // namespace caisson::worker
