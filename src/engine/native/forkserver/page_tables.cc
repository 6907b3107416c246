#include "engine/native/forkserver/page_tables.h"

#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/memory_maps.h"
#include "base/sanitized.h"
#include "engine/native/forkserver/baseline.h"

namespace caisson::forkserver {
namespace {

// Smaller mappings are not worthwhile; stacks and thread-local variables are among them.
constexpr std::size_t kWorthMoving = 512 << 10;
// Minimum number of used pages: inheriting any costs a fork some work.
constexpr std::size_t kWorthInheriting = 4;
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;  // In /proc/self/pagemap.
// Missing in the headers of some distributions we build on: Linux 5.11 and 6.7.
constexpr int kUserModeOnly = 1;                       // UFFD_USER_MODE_ONLY
constexpr std::uint64_t kWriteProtectAsync = 1 << 15;  // UFFD_FEATURE_WP_ASYNC

struct Range {
  char* begin = nullptr;
  std::size_t size = 0;
};

std::size_t PageBytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct Mapping {
  Range range;
  std::string access;  // As in "r-xp".
  bool is_of_file = false;
};

Result<std::vector<Mapping>> ReadMappings(const UniqueFd& maps) {
  std::string text;
  std::array<char, 4096> buffer{};
  ::lseek(maps.get(), 0, SEEK_SET);
  while (true) {
    const ssize_t got = ::read(maps.get(), buffer.data(), buffer.size());
    if (got < 0) return Error::FromErrno(errno, "read what is mapped");
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  TRY_ASSIGN(const std::vector<MemoryMapping> listed, ParseMemoryMaps(text));
  std::vector<Mapping> mappings;
  for (const MemoryMapping& mapping : listed) {
    mappings.push_back({.range = {At(mapping.begin), mapping.size()},
                        .access = mapping.access,
                        .is_of_file = mapping.inode != 0});
  }
  return mappings;
}

// ---- Writable memory ----

// Returns how many pages of the range are mapped.
std::size_t CountUsed(const Range& range, const UniqueFd& pagemap) {
  std::vector<std::uint64_t> entries(range.size / PageBytes());
  const auto first = reinterpret_cast<std::uintptr_t>(range.begin) / PageBytes();
  const ssize_t got = ::pread(pagemap.get(), entries.data(), entries.size() * sizeof entries[0],
                              static_cast<off_t>(first * sizeof entries[0]));
  entries.resize(got > 0 ? static_cast<std::size_t>(got) / sizeof entries[0] : 0);
  return static_cast<std::size_t>(
      std::ranges::count_if(entries, [](std::uint64_t entry) { return (entry & kPresent) != 0; }));
}

// Libraries reserve far more than they use. Untouched memory stays anonymous: as part of the file
// it would be allocated when a cell touches it, and stay allocated when the cell is gone.
bool IsWorthMoving(const Mapping& mapping, const UniqueFd& pagemap) {
  const auto& [range, access, is_of_file] = mapping;
  return access == "rw-p" && range.size >= kWorthMoving &&
         (is_of_file || CountUsed(range, pagemap) * PageBytes() * 2 >= range.size);
}

// Nothing may change between the two calls, because it would be lost. So this uses neither the heap
// nor anything else with state.
bool MoveToFile(const Range& range, int file, off_t offset) {
  for (std::size_t done = 0; done < range.size;) {
    const ssize_t written =
        ::pwrite(file, range.begin + done, range.size - done, offset + static_cast<off_t>(done));
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return ::mmap(range.begin, range.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file,
                offset) != MAP_FAILED;
}

// The heap, the interpreter's arenas, the program's variables. Anonymous memory cannot be mapped
// again from elsewhere.
Result<void> MoveMemoryToFile(const PageFiles& files) {
  TRY_ASSIGN(const std::vector<Mapping> mappings, ReadMappings(files.maps));
  const UniqueFd file(::memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) return {};  // A container may refuse it.
  off_t offset = 0;
  for (const Mapping& mapping : mappings) {
    if (!IsWorthMoving(mapping, files.pagemap)) continue;
    if (!MoveToFile(mapping.range, file.get(), offset)) {
      return Error::FromErrno(errno, "move the memory");
    }
    offset += static_cast<off_t>(mapping.range.size);
  }
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return Error::FromErrno(errno, "seal the memory");
  }
  if (offset == 0) return {};
  // Only a cell that is copied reads this; unread pages cost nothing.
  const void* view =
      ::mmap(nullptr, static_cast<std::size_t>(offset), PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (view == MAP_FAILED) return Error::FromErrno(errno, "map the memory once more");
  return {};
}

// ---- Code and constants ----

struct Segment {
  Range range;
  int protection = 0;
};

// Returns whether it was changed while it was loaded, so that it cannot be mapped again from its
// file.
bool IsRelocated(const dl_phdr_info& object, const ElfW(Phdr) & dynamic) {
  const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + dynamic.p_vaddr);
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_TEXTREL) return true;
    if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0) return true;
  }
  return false;
}

int AddSegments(dl_phdr_info* object, std::size_t, void* segments) {
  const std::uintptr_t page = PageBytes();
  const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
  for (const ElfW(Phdr) & header : headers) {
    if (header.p_type == PT_DYNAMIC && IsRelocated(*object, header)) return 0;
  }
  for (const ElfW(Phdr) & header : headers) {
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + header.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = object->dlpi_addr + header.p_vaddr + header.p_filesz;
    static_cast<std::vector<Segment>*>(segments)->push_back(
        {.range = {reinterpret_cast<char*>(begin), (end - begin + page - 1) & ~(page - 1)},
         .protection = PROT_READ | ((header.p_flags & PF_X) != 0 ? PROT_EXEC : 0)});
  }
  return 0;
}

std::vector<Segment> ReadOnlySegments() {
  std::vector<Segment> segments;
  ::dl_iterate_phdr(AddSegments, &segments);
  return segments;
}

// Fork copies the page table of a file mapping only if some page of it is private. So one page is
// made private, by writing its own content back.
void LetForksInherit(const Segment& segment) {
  const auto& [range, protection] = segment;
  if (::mprotect(range.begin, range.size, protection | PROT_WRITE) != 0) return;
  auto* first = static_cast<volatile char*>(range.begin);
  *first = *first;
  ::mprotect(range.begin, range.size, protection);
}

// ---- Faults ----

// While this object exists, a touched page is mapped alone and not with the fifteen pages around
// it: the kernel does so where userfaultfd could be asked to protect pages. It never is. Best
// effort: without it, more entries are kept than needed.
class FaultsByPage {
 public:
  explicit FaultsByPage(const std::vector<Mapping>& mappings)
      : fd_(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly))) {
    uffdio_api api{.api = UFFD_API, .features = kWriteProtectAsync, .ioctls = 0};
    if (!fd_.is_open() || ::ioctl(fd_.get(), UFFDIO_API, &api) != 0) return;
    for (const Mapping& mapping : mappings) {
      uffdio_register asked{};
      asked.range = {.start = reinterpret_cast<std::uintptr_t>(mapping.range.begin),
                     .len = mapping.range.size};
      asked.mode = UFFDIO_REGISTER_MODE_WP;
      ::ioctl(fd_.get(), UFFDIO_REGISTER, &asked);
    }
  }

 private:
  UniqueFd fd_;  // Closing it undoes everything.
};

}  // namespace

Result<void> KeepWhatIsUsed(const PageFiles& files, const std::function<Result<void>()>& use) {
  // A sanitizer keeps records in its own memory of terabytes, which would change while that memory
  // is moved.
  if (kIsSanitized) return use();
  TRY(MoveMemoryToFile(files));
  TRY_ASSIGN(const std::vector<Mapping> mappings, ReadMappings(files.maps));
  const std::vector<Segment> segments = ReadOnlySegments();
  const FaultsByPage by_page(mappings);
  for (const Segment& segment : segments) {
    ::madvise(segment.range.begin, segment.range.size, MADV_DONTNEED);
  }
  TRY(use());
  for (const Segment& segment : segments) {
    if (CountUsed(segment.range, files.pagemap) >= kWorthInheriting) LetForksInherit(segment);
  }
  return {};
}

}  // namespace caisson::forkserver
