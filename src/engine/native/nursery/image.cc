#include "engine/native/nursery/image.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/native/nursery/kernel_state.h"
#include "engine/native/nursery/private_tree.h"

namespace caisson::nursery {
namespace {

using wire::SurveyedMapping;
using wire::SurveyedPages;

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kTop = (std::uint64_t{1} << 47) - kPageBytes;
constexpr std::uint32_t kReadWrite = wire::kMayRead | wire::kMayWrite;
constexpr std::string_view kSharedMemory = "/dev/zero (deleted)";

std::uint64_t AddressOf(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

std::uint32_t AccessOf(const MemoryMapping& mapping) {
  return (mapping.access[0] == 'r' ? wire::kMayRead : 0u) |
         (mapping.access[1] == 'w' ? wire::kMayWrite : 0u) |
         (mapping.access[2] == 'x' ? wire::kMayExecute : 0u) |
         (mapping.access[3] == 's' ? wire::kIsShared : 0u);
}

// A stretch of a mapping, with what the stem has in the whole of its place.
struct Part {
  const SurveyedMapping& mapping;
  std::string_view path;
  std::uint64_t begin;
  std::uint64_t end;
  const MemoryMapping* in_stem;  // May be null.

  std::uint64_t offset() const { return mapping.offset + (begin - mapping.begin); }
  std::uint32_t protection() const { return mapping.access & ~std::uint32_t{wire::kIsShared}; }
  bool is_shared() const { return (mapping.access & wire::kIsShared) != 0; }

  // Whether every fresh cell has the same thing there, apart from pages that somebody wrote to.
  bool is_inherited() const {
    return in_stem != nullptr && in_stem->device == mapping.device &&
           in_stem->inode == mapping.inode && ((AccessOf(*in_stem) & wire::kIsShared) != 0) == is_shared() &&
           (mapping.inode == 0 || in_stem->offset + (begin - in_stem->begin) == offset());
  }
};

// The memory as steps, written or merely counted.
class MemorySteps {
 public:
  MemorySteps(const Stem& stem, const Survey& survey, std::uint64_t stack_in_use, RawWriter& out)
      : stem_(stem), survey_(survey), stack_in_use_(stack_in_use & ~(kPageBytes - 1)), out_(out) {}

  Result<void> Write() {
    UnmapWhatIsNotThere();
    Put({.kind = StepKind::kBreak, .begin = static_cast<std::uint64_t>(::syscall(SYS_brk, 0))});
    Result<void> written;
    survey_.ForEachMapping([&](const SurveyedMapping& mapping, std::string_view path) {
      if (!path.starts_with("[v")) written = WriteMapping(mapping, path);  // [vdso], [vvar]
      return written.has_value();
    });
    return written;
  }

 private:
  void Put(const Step& step) { out_.Put(step); }

  // Everything between what this process has mapped.
  void UnmapWhatIsNotThere() {
    std::uint64_t at = 0;
    const auto unmap = [&](std::uint64_t end) {
      if (at < end) Put({.kind = StepKind::kUnmap, .begin = at, .end = end});
    };
    survey_.ForEachMapping([&](const SurveyedMapping& mapping, std::string_view) {
      unmap(mapping.begin);
      at = mapping.end;
      return true;
    });
    unmap(kTop);
  }

  // In parts that begin and end where something does in the stem. The scratch is nobody's.
  Result<void> WriteMapping(const SurveyedMapping& mapping, std::string_view path) {
    const std::uint64_t scratch = AddressOf(&stem_.scratch());
    const std::uint64_t scratch_end = scratch + ScratchBytes();
    for (std::uint64_t at = mapping.begin; at < mapping.end;) {
      if (at >= scratch && at < scratch_end) {
        at = scratch_end;
        continue;
      }
      std::uint64_t end = mapping.end;
      if (at < scratch) end = std::min(end, scratch);
      const MemoryMapping* in_stem = nullptr;
      const auto next = std::ranges::upper_bound(stem_.mappings(), at, {}, &MemoryMapping::end);
      if (next != stem_.mappings().end()) {
        if (next->begin <= at) in_stem = &*next;
        end = std::min(end, next->begin <= at ? next->end : next->begin);
      }
      TRY(WritePart({mapping, path, at, end, in_stem}));
      at = end;
    }
    return {};
  }

  static std::uint64_t ScratchBytes() {
    return (sizeof(Scratch) + kPageBytes - 1) & ~(kPageBytes - 1);
  }

  Result<void> WritePart(const Part& part) {
    if (part.path == "[stack]") return WriteStack(part);
    if (part.is_inherited()) return WriteInherited(part);
    if (part.mapping.inode == 0 || part.path == kSharedMemory) return WriteAnonymous(part);
    return WriteOfFile(part);
  }

  Result<void> WriteStack(const Part& part) {
    Put({.kind = StepKind::kGrowStack, .begin = part.begin, .end = part.end});
    // What is below is garbage, and more of it than the host has seen.
    if (part.begin < stack_in_use_) Discard(part.begin, std::min(part.end, stack_in_use_));
    if (part.end > stack_in_use_) Fill(std::max(part.begin, stack_in_use_), part.end);
    return {};
  }

  Result<void> WriteInherited(const Part& part) {
    const std::uint32_t before = AccessOf(*part.in_stem) & ~std::uint32_t{wire::kIsShared};
    const std::uint32_t after = part.protection();
    // What could not be written to was not.
    if (before == after && (after & wire::kMayWrite) == 0) return {};
    if (before != kReadWrite) Protect(part, kReadWrite);
    WritePages(part, Between::kDiscard);
    if (after != kReadWrite) return ProtectAtLast(part, after);
    return {};
  }

  Result<void> WriteAnonymous(const Part& part) {
    Put({.kind = StepKind::kMap,
         .access = kReadWrite | (part.is_shared() ? wire::kIsShared : 0u),
         .begin = part.begin,
         .end = part.end});
    WritePages(part, Between::kLeave);
    if (part.protection() != kReadWrite) return ProtectAtLast(part, part.protection());
    return {};
  }

  Result<void> WriteOfFile(const Part& part) {
    TRY(RequireFile(part));
    const bool is_code = (part.mapping.access & wire::kMayExecute) != 0;
    const bool is_filled = !part.is_shared() && !is_code && HasPages(part);
    Put({.kind = StepKind::kMapFile,
         .access = is_filled ? kReadWrite : part.mapping.access,
         .begin = part.begin,
         .end = part.end,
         .offset = part.offset(),
         .inode = part.mapping.inode,
         .path_length = static_cast<std::uint32_t>(part.path.size())});
    out_.Put(part.path.data(), part.path.size());
    if (!is_filled) return {};
    WritePages(part, Between::kLeave);
    if (part.protection() != kReadWrite) return ProtectAtLast(part, part.protection());
    return {};
  }

  // It is still there under its name.
  static Result<void> RequireFile(const Part& part) {
    std::array<char, PATH_MAX> path{};
    struct stat status{};
    if (part.path.starts_with('/') && part.path.size() < path.size()) {
      std::memcpy(path.data(), part.path.data(), part.path.size());
      if (::stat(path.data(), &status) == 0 && status.st_ino == part.mapping.inode) return {};
    }
    return Error(ErrorCode::kFailedPrecondition,
                 "the session has mapped " + std::string(part.path) +
                     ", which cannot be mapped again; close it first");
  }

  void Protect(const Part& part, std::uint32_t access) {
    Put({.kind = StepKind::kProtect, .access = access, .begin = part.begin, .end = part.end});
  }
  Result<void> ProtectAtLast(const Part& part, std::uint32_t access) {
    if ((access & wire::kMayExecute) != 0) {
      return Error(ErrorCode::kFailedPrecondition, "the session has memory that became code");
    }
    Protect(part, access);
    return {};
  }
  void Discard(std::uint64_t begin, std::uint64_t end) {
    Put({.kind = StepKind::kDiscard, .begin = begin, .end = end});
  }
  void Fill(std::uint64_t begin, std::uint64_t end) {
    Put({.kind = StepKind::kFill, .begin = begin, .end = end});
    out_.Put(reinterpret_cast<const void*>(begin), end - begin);
  }

  const SurveyedPages* FirstPages(const Part& part) const {
    const auto pages = survey_.pages();
    return pages.data() + (std::ranges::upper_bound(pages, part.begin, {}, &SurveyedPages::end) -
                           pages.begin());
  }
  bool HasPages(const Part& part) const {
    const SurveyedPages* first = FirstPages(part);
    return first != survey_.pages().data() + survey_.pages().size() && first->begin < part.end;
  }

  enum class Between { kLeave, kDiscard };  // What becomes of pages that are not the cell's own.
  void WritePages(const Part& part, Between between) {
    std::uint64_t at = part.begin;
    const SurveyedPages* const last = survey_.pages().data() + survey_.pages().size();
    // What nobody may read has nothing to tell.
    const bool is_readable = (part.mapping.access & wire::kMayRead) != 0;
    for (const SurveyedPages* pages = FirstPages(part);
         is_readable && pages != last && pages->begin < part.end; ++pages) {
      const std::uint64_t begin = std::max(pages->begin, part.begin);
      const std::uint64_t end = std::min(pages->end, part.end);
      if (between == Between::kDiscard && at < begin) Discard(at, begin);
      Fill(begin, end);
      at = end;
    }
    if (between == Between::kDiscard && at < part.end) Discard(at, part.end);
  }

  const Stem& stem_;
  const Survey& survey_;
  const std::uint64_t stack_in_use_;
  RawWriter& out_;
};

Result<void> WriteImage(const Stem& stem, const Survey& survey, const ucontext_t& context,
                        std::uint64_t stack_in_use, RawWriter& out) {
  const Scratch& scratch = stem.scratch();
  out.Put(scratch.state_bytes);
  out.Put(scratch.state.data(), scratch.state_bytes);
  TRY(WritePrivateTree(out));
  TRY(MemorySteps(stem, survey, stack_in_use, out).Write());
  out.Put(Step{.kind = StepKind::kJump, .begin = AddressOf(&context)});
  return {};
}

// Once to see whether it can be done and how long it gets, then in earnest. Not inline: what lies above its frame is
// what the branch goes on with.
[[gnu::noinline]] Result<void> CountAndSend(const Stem& stem, const Survey& survey, int socket,
                                            std::uint64_t max_bytes, const ucontext_t& context) {
  const std::uint64_t stack_in_use = AddressOf(__builtin_frame_address(0));
  RawWriter counted(stem.scratch(), socket, wire::ToHost::kSaved, RawWriter::Mode::kCount);
  TRY(WriteImage(stem, survey, context, stack_in_use, counted));
  if (counted.bytes() > max_bytes) {
    return Error(ErrorCode::kFailedPrecondition,
                 "the session's memory and files are " + std::to_string(counted.bytes() >> 20) +
                     " MiB, and at most " + std::to_string(max_bytes >> 20) +
                     " MiB can be copied; delete what is not needed first");
  }
  RawWriter out(stem.scratch(), socket, wire::ToHost::kSaved, RawWriter::Mode::kSend);
  TRY(WriteImage(stem, survey, context, stack_in_use, out));
  out.End();
  return {};
}

}  // namespace

Result<Self> SendImage(const Stem& stem, const Survey& survey, int socket,
                       std::uint64_t max_bytes) {
  TRY(NoteKernelState(survey, socket, stem.scratch()));
  ucontext_t context;
  volatile bool* const is_branch = &stem.scratch().is_branch;
  *is_branch = false;
  if (::getcontext(&context) != 0) return Error(ErrorCode::kInternal, "no context");
  // Twice: here, and in every process that becomes this one.
  if (*is_branch) return Self::kBranch;
  TRY(CountAndSend(stem, survey, socket, max_bytes, context));
  return Self::kSource;
}

}  // namespace caisson::nursery
