#include "engine/native/nursery/code_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace caisson::nursery {
namespace {

struct Segment {
  bool of_program = false;  // Ours, rather than some library's.
  void* begin = nullptr;
  std::size_t size = 0;
};

using Visit = void (*)(const Segment&);

int VisitObject(dl_phdr_info* object, std::size_t, void* visit) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & (PF_X | PF_W)) != PF_X) continue;
    const std::uintptr_t begin = (object->dlpi_addr + header.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = object->dlpi_addr + header.p_vaddr + header.p_filesz;
    (*static_cast<Visit*>(visit))({.of_program = object->dlpi_name[0] == '\0',
                                   .begin = reinterpret_cast<void*>(begin),
                                   .size = (end - begin + page - 1) & ~(page - 1)});
  }
  return 0;
}

void ForEachCodeSegment(Visit visit) {
  ::dl_iterate_phdr(VisitObject, &visit);
}

}  // namespace

// The program's alone: a library might have been relocated in place, and would lose that.
void ForgetCodePages() {
  ForEachCodeSegment([](const Segment& code) {
    if (code.of_program) ::madvise(code.begin, code.size, MADV_DONTNEED);
  });
}

// Fork copies the page table of a file mapping only if some page of it is private. So one is made
// private, by writing back what it holds.
void InheritCodePages() {
  ForEachCodeSegment([](const Segment& code) {
    if (::mprotect(code.begin, code.size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
    auto* first = static_cast<volatile char*>(code.begin);
    *first = *first;
    ::mprotect(code.begin, code.size, PROT_READ | PROT_EXEC);
  });
}

}  // namespace caisson::nursery
