#include "engine/native/nursery/code_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace caisson::nursery {
namespace {

// Fork copies the page table of a file mapping only if some page of it is private. So one is made
// private, by writing back what it holds. What was used until now is mapped, and no more than that:
// whatever is mapped costs every fork and every exit.
void KeepMapped(std::uintptr_t begin, std::size_t size, int protection) {
  auto* start = reinterpret_cast<volatile char*>(begin);
  void* range = reinterpret_cast<void*>(begin);
  if (::mprotect(range, size, PROT_READ | PROT_WRITE | (protection & PROT_EXEC)) != 0) return;
  *start = *start;
  ::mprotect(range, size, protection);
}

int VisitObject(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const bool code = segment.p_type == PT_LOAD && (segment.p_flags & (PF_X | PF_W)) == PF_X;
    if (!code || segment.p_filesz < page) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_filesz;
    KeepMapped(begin, (end - begin + page - 1) & ~(page - 1), PROT_READ | PROT_EXEC);
  }
  return 0;
}

}  // namespace

void KeepCodeMappedInForks() {
  ::dl_iterate_phdr(VisitObject, nullptr);
}

}  // namespace caisson::nursery
