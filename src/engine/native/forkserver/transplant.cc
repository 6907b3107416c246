#include "engine/native/forkserver/transplant.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string_view>

#include "engine/native/forkserver/image.h"
#include "engine/native/forkserver/private_tree.h"

namespace caisson::forkserver {
namespace {

int Protection(std::uint32_t access) {
  return ((access & wire::kMayRead) != 0 ? PROT_READ : 0) |
         ((access & wire::kMayWrite) != 0 ? PROT_WRITE : 0) |
         ((access & wire::kMayExecute) != 0 ? PROT_EXEC : 0);
}

// Performs the steps. It and everything it uses lies in the scratch, and its code is the fork
// server's: neither is ever replaced. It uses no heap, no variables of ours, and of the C library
// only system calls.
class Transplant {
 public:
  Transplant(Scratch& scratch, const RawReader& image, int socket)
      : scratch_(scratch), image_(image), socket_(socket) {}

  [[noreturn]] void Run() {
    while (true) {
      Step step;
      if (!image_.Take(step)) Fail("it ends too early");
      Take(step);
    }
  }

 private:
  [[noreturn]] void Fail(const char* why) {
    // Not a std::string: there is no heap.
    std::array<char, 256> text{};
    constexpr std::string_view kPrefix = "the session could not be copied: ";
    const std::string_view reason(why);
    kPrefix.copy(text.data(), kPrefix.size());
    reason.copy(text.data() + kPrefix.size(), text.size() - kPrefix.size());
    RefuseAndExit(socket_, {text.data(), std::min(text.size(), kPrefix.size() + reason.size())});
  }
  void Require(bool done, const char* otherwise) {
    if (!done) Fail(otherwise);
  }

  void Take(const Step& step) {
    const std::uint64_t size = step.end - step.begin;
    switch (step.kind) {
      case StepKind::kUnmap:
        return Require(::munmap(At(step.begin), size) == 0, "something cannot be unmapped");
      case StepKind::kBreak:
        return Require(static_cast<std::uint64_t>(::syscall(SYS_brk, step.begin)) == step.begin,
                       kNoRoom);
      case StepKind::kGrowStack:
        return GrowStack(step);
      case StepKind::kMap:
        return Map(step, -1, MAP_ANONYMOUS | MAP_NORESERVE);
      case StepKind::kMapFile:
        return MapFile(step);
      case StepKind::kProtect:
        return Require(::mprotect(At(step.begin), size, Protection(step.access)) == 0, kNoRoom);
      case StepKind::kDiscard:
        return Require(::madvise(At(step.begin), size, MADV_DONTNEED) == 0,
                       "something cannot be forgotten");
      case StepKind::kFill:
        return Require(image_.Read(At(step.begin), size), "it ends too early");
      case StepKind::kJump:
        scratch_.is_branch = true;
        ::setcontext(reinterpret_cast<const ucontext_t*>(At(step.begin)));
        break;
    }
    Fail("it makes no sense");
  }

  // Only the kernel can extend a stack, page by page.
  static void GrowStack(const Step& step) {
    for (std::uint64_t page = step.end; page > step.begin;) {
      page -= kPageBytes;
      auto* byte = static_cast<volatile char*>(At(page));
      *byte = *byte;
    }
  }

  void Map(const Step& step, int file, int flags) {
    const int sharing = (step.access & wire::kIsShared) != 0 ? MAP_SHARED : MAP_PRIVATE;
    Require(
        ::mmap(At(step.begin), step.end - step.begin, Protection(step.access),
               sharing | MAP_FIXED | flags, file, static_cast<off_t>(step.offset)) != MAP_FAILED,
        kNoRoom);
  }

  void MapFile(const Step& step) {
    std::array<char, PATH_MAX> path{};
    Require(step.path_length < path.size() && image_.Read(path.data(), step.path_length),
            "it makes no sense");
    constexpr std::uint32_t kWrites = wire::kIsShared | wire::kMayWrite;
    const int file =
        ::open(path.data(), ((step.access & kWrites) == kWrites ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    struct stat status{};
    Require(file >= 0 && ::fstat(file, &status) == 0, "a file that it has mapped is not there");
    // Private files have other inode numbers in every cell.
    Require((step.access & wire::kIsShared) != 0 || status.st_ino == step.inode || !IsLibrary(step),
            "a library that it has loaded was changed");
    Map(step, file, 0);
    ::close(file);
  }

  static bool IsLibrary(const Step& step) { return (step.access & wire::kMayExecute) != 0; }

  static constexpr const char* kNoRoom =
      "it does not fit into the memory that the copy may have (memory_bytes)";

  Scratch& scratch_;
  RawReader image_;
  const int socket_;
};

}  // namespace

void Become(const Baseline& baseline, RawReader& image, int socket) {
  Scratch& scratch = baseline.scratch();
  if (!image.Take(scratch.state_bytes) || scratch.state_bytes > scratch.state.size() ||
      !image.Read(scratch.state.data(), scratch.state_bytes)) {
    RefuseAndExit(socket, "an image makes no sense");
  }
  if (const Result<void> made = MakePrivateTree(image); !made) {
    RefuseAndExit(socket, made.error().message());
  }
  // The process map's space is unused in a cell that becomes a copy.
  auto* const transplant = new (scratch.process_map.data()) Transplant(scratch, image, socket);
  ucontext_t context;
  if (::getcontext(&context) != 0) ::_exit(EXIT_FAILURE);
  context.uc_stack = {
      .ss_sp = scratch.stack.data(), .ss_flags = 0, .ss_size = scratch.stack.size()};
  context.uc_link = nullptr;
  const std::uint64_t address = AddressOf(transplant);
  // makecontext() passes ints.
  ::makecontext(&context, reinterpret_cast<void (*)()>(+[](unsigned high, unsigned low) {
    const std::uint64_t where = std::uint64_t{high} << 32 | low;
    reinterpret_cast<Transplant*>(At(where))->Run();
  }),
                2, static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  ::setcontext(&context);
  ::_exit(EXIT_FAILURE);
}

}  // namespace caisson::forkserver
