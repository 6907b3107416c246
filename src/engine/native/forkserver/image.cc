#include "engine/native/forkserver/image.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "engine/native/forkserver/kernel_state.h"
#include "engine/native/forkserver/private_tree.h"

namespace caisson::forkserver {
namespace {

using wire::ProcessMapEntry;

constexpr std::uint32_t kReadWrite = wire::kMayRead | wire::kMayWrite;
constexpr std::string_view kSharedMemory = "/dev/zero (deleted)";

// A part of a mapping, with the mapping that the baseline has in its place.
struct Part {
  const ProcessMapEntry& mapping;
  std::string_view path;
  std::uint64_t begin;
  std::uint64_t end;
  const ProcessMapEntry* in_baseline;  // May be null.

  std::uint64_t offset() const { return mapping.offset + (begin - mapping.begin); }
  std::uint32_t protection() const { return mapping.access & ~std::uint32_t{wire::kIsShared}; }
  bool is_shared() const { return (mapping.access & wire::kIsShared) != 0; }

  // Returns whether every fresh cell has the same mapping there, except for written pages.
  bool is_inherited() const {
    return in_baseline != nullptr && in_baseline->device == mapping.device &&
           in_baseline->inode == mapping.inode &&
           ((in_baseline->access & wire::kIsShared) != 0) == is_shared() &&
           (mapping.inode == 0 || in_baseline->offset + (begin - in_baseline->begin) == offset());
  }
};

// The steps that lead from the baseline to the memory of this process; kept in the scratch.
class Plan {
 public:
  Plan(const Baseline& baseline, const ProcessMapReader& process_map, std::uint64_t stack_in_use)
      : baseline_(baseline),
        process_map_(process_map),
        stack_in_use_(stack_in_use & ~(kPageBytes - 1)) {}

  Result<void> Make() {
    UnmapWhatIsNotThere();
    Add({.kind = StepKind::kBreak, .begin = static_cast<std::uint64_t>(::syscall(SYS_brk, 0))});
    Result<void> made;
    process_map_.ForEachMapping([&](const ProcessMapEntry& mapping, std::string_view path) {
      if (!path.starts_with("[v")) made = AddMapping(mapping, path);  // [vdso], [vvar]
      return made.has_value();
    });
    if (made && overflows_) {
      return Error(ErrorCode::kFailedPrecondition,
                   "the session's memory is in too many pieces to be copied");
    }
    return made;
  }

  void Write(RawWriter& out) const {
    for (const Step& step : std::span(steps(), count_)) {
      out.Put(step);
      if (step.kind == StepKind::kFill) {
        out.Put(At(step.begin), step.end - step.begin);
      }
      if (step.kind == StepKind::kMapFile) {
        out.Put(baseline_.scratch().process_map.data() + step.path_at, step.path_length);
      }
    }
  }

 private:
  Step* steps() const { return reinterpret_cast<Step*>(baseline_.scratch().plan.data()); }

  void Add(const Step& step) {
    overflows_ = overflows_ || (count_ + 1) * sizeof step > baseline_.scratch().plan.size();
    if (!overflows_) steps()[count_++] = step;
  }

  // Unmaps everything between the mappings of this process.
  void UnmapWhatIsNotThere() {
    std::uint64_t at = 0;
    const auto unmap = [&](std::uint64_t end) {
      if (at < end) Add({.kind = StepKind::kUnmap, .begin = at, .end = end});
    };
    process_map_.ForEachMapping([&](const ProcessMapEntry& mapping, std::string_view) {
      unmap(mapping.begin);
      at = mapping.end;
      return true;
    });
    unmap(wire::kAddressEnd);
  }

  // Splits it into parts that begin and end where a mapping of the baseline does. Skips the
  // scratch.
  Result<void> AddMapping(const ProcessMapEntry& mapping, std::string_view path) {
    const std::uint64_t scratch = AddressOf(&baseline_.scratch());
    const std::uint64_t scratch_end = scratch + ScratchBytes();
    for (std::uint64_t at = mapping.begin; at < mapping.end;) {
      if (at >= scratch && at < scratch_end) {
        at = scratch_end;
        continue;
      }
      std::uint64_t end = mapping.end;
      if (at < scratch) end = std::min(end, scratch);
      const ProcessMapEntry* in_baseline = nullptr;
      const auto next =
          std::ranges::upper_bound(baseline_.mappings(), at, {}, &ProcessMapEntry::end);
      if (next != baseline_.mappings().end()) {
        if (next->begin <= at) in_baseline = &*next;
        end = std::min(end, next->begin <= at ? next->end : next->begin);
      }
      TRY(AddPart({mapping, path, at, end, in_baseline}));
      at = end;
    }
    return {};
  }

  static std::uint64_t ScratchBytes() {
    return (sizeof(Scratch) + kPageBytes - 1) & ~(kPageBytes - 1);
  }

  Result<void> AddPart(const Part& part) {
    if (part.path == "[stack]") return AddStack(part);
    if (part.is_inherited()) return AddInherited(part);
    if (part.mapping.inode == 0 || part.path == kSharedMemory) return AddAnonymous(part);
    return AddOfFile(part);
  }

  Result<void> AddStack(const Part& part) {
    Add({.kind = StepKind::kGrowStack, .begin = part.begin, .end = part.end});
    // Everything below is garbage, and more of it than the host has seen.
    if (part.begin < stack_in_use_) Discard(part.begin, std::min(part.end, stack_in_use_));
    if (part.end > stack_in_use_) Fill(std::max(part.begin, stack_in_use_), part.end);
    return {};
  }

  Result<void> AddInherited(const Part& part) {
    const std::uint32_t before = part.in_baseline->access & ~std::uint32_t{wire::kIsShared};
    const std::uint32_t after = part.protection();
    // Memory that was never writable is unchanged.
    if (before == after && (after & wire::kMayWrite) == 0) return {};
    if (before != kReadWrite) Protect(part, kReadWrite);
    AddPages(part, PristineOf(part), Otherwise::kDiscard);
    return after != kReadWrite ? ProtectAtLast(part, after) : Result<void>();
  }

  Result<void> AddAnonymous(const Part& part) {
    Add({.kind = StepKind::kMap,
         .access = kReadWrite | (part.is_shared() ? wire::kIsShared : 0u),
         .begin = part.begin,
         .end = part.end});
    AddPages(part, {}, Otherwise::kLeave);
    return part.protection() != kReadWrite ? ProtectAtLast(part, part.protection())
                                           : Result<void>();
  }

  Result<void> AddOfFile(const Part& part) {
    TRY_ASSIGN(const UniqueFd file, OpenFile(part));
    const bool is_code = (part.mapping.access & wire::kMayExecute) != 0;
    const bool is_private_data = !part.is_shared() && !is_code;
    Add({.kind = StepKind::kMapFile,
         .access = is_private_data ? kReadWrite : part.mapping.access,
         .begin = part.begin,
         .end = part.end,
         .offset = part.offset(),
         .inode = part.mapping.inode,
         .path_length = static_cast<std::uint32_t>(part.path.size()),
         .path_at = static_cast<std::uint32_t>(part.path.data() -
                                               baseline_.scratch().process_map.data())});
    if (!is_private_data) return {};
    AddPages(part, {.file = file.get()}, Otherwise::kLeave);
    return part.protection() != kReadWrite ? ProtectAtLast(part, part.protection())
                                           : Result<void>();
  }

  // Opens the file if it still exists under its name.
  static Result<UniqueFd> OpenFile(const Part& part) {
    std::array<char, PATH_MAX> path{};
    struct stat status{};
    if (part.path.starts_with('/') && part.path.size() < path.size()) {
      std::memcpy(path.data(), part.path.data(), part.path.size());
      UniqueFd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
      if (file.is_open() && ::fstat(file.get(), &status) == 0 &&
          status.st_ino == part.mapping.inode) {
        return file;
      }
    }
    return Error(ErrorCode::kFailedPrecondition,
                 "the session has mapped " + std::string(part.path) +
                     ", which cannot be mapped again; close it first");
  }

  void Protect(const Part& part, std::uint32_t access) {
    Add({.kind = StepKind::kProtect, .access = access, .begin = part.begin, .end = part.end});
  }
  Result<void> ProtectAtLast(const Part& part, std::uint32_t access) {
    if ((access & wire::kMayExecute) != 0) {
      return Error(ErrorCode::kFailedPrecondition, "the session has memory that became code");
    }
    Protect(part, access);
    return {};
  }
  void Discard(std::uint64_t begin, std::uint64_t end) {
    Add({.kind = StepKind::kDiscard, .begin = begin, .end = end});
  }
  void Fill(std::uint64_t begin, std::uint64_t end) {
    Add({.kind = StepKind::kFill, .begin = begin, .end = end});
  }

  // The original contents of a part: zeros if neither is set.
  struct Pristine {
    const char* memory = nullptr;
    int file = -1;
    bool is_unknown = false;
  };
  Pristine PristineOf(const Part& part) const {
    if (part.mapping.inode == 0) return {};
    const char* const memory = baseline_.Pristine(*part.in_baseline);
    if (memory == nullptr) return {.is_unknown = true};
    return {.memory = memory + (part.begin - part.in_baseline->begin)};
  }

  static bool IsPristine(const Part& part, std::uint64_t page, const Pristine& pristine) {
    const char* const own = At(page);
    if (pristine.is_unknown) return false;
    if (pristine.memory != nullptr) {
      return std::memcmp(own, pristine.memory + (page - part.begin), kPageBytes) == 0;
    }
    // The page equals its first bytes, which are zero.
    if (pristine.file < 0) return *own == 0 && std::memcmp(own, own + 1, kPageBytes - 1) == 0;
    std::array<char, kPageBytes> bytes{};
    const auto offset = static_cast<off_t>(part.offset() + (page - part.begin));
    // After the end of its file there is nothing to compare.
    if (::pread(pristine.file, bytes.data(), bytes.size(), offset) <= 0) return true;
    return std::memcmp(own, bytes.data(), bytes.size()) == 0;
  }

  enum class Otherwise { kLeave, kDiscard };  // What to do with unchanged pages.
  void AddPages(const Part& part, const Pristine& pristine, Otherwise otherwise) {
    // Unreadable memory is not copied.
    const bool is_readable = (part.mapping.access & wire::kMayRead) != 0;
    const auto is_pristine = [&](std::uint64_t page) {
      return !is_readable || IsPristine(part, page, pristine);
    };
    for (std::uint64_t at = part.begin; at < part.end;) {
      const bool is_left = is_pristine(at);
      std::uint64_t end = at + kPageBytes;
      while (end < part.end && is_pristine(end) == is_left) end += kPageBytes;
      if (!is_left) Fill(at, end);
      if (is_left && otherwise == Otherwise::kDiscard) Discard(at, end);
      at = end;
    }
  }

  const Baseline& baseline_;
  const ProcessMapReader& process_map_;
  const std::uint64_t stack_in_use_;
  std::size_t count_ = 0;
  bool overflows_ = false;
};

Result<void> WriteImage(const Baseline& baseline, const Plan& plan, const ucontext_t& context,
                        RawWriter& out) {
  const Scratch& scratch = baseline.scratch();
  out.Put(scratch.state_bytes);
  out.Put(scratch.state.data(), scratch.state_bytes);
  TRY(WritePrivateTree(out, nullptr));
  plan.Write(out);
  out.Put(Step{.kind = StepKind::kJump, .begin = AddressOf(&context)});
  return {};
}

// Runs once to check that it is possible and to count the length, then sends. Not inlined: the
// branch continues with the frames above this one.
[[gnu::noinline]] Result<void> CountAndSend(const Baseline& baseline,
                                            const ProcessMapReader& process_map, int socket,
                                            std::uint64_t max_bytes, const ucontext_t& context) {
  Plan plan(baseline, process_map, AddressOf(__builtin_frame_address(0)));
  TRY(plan.Make());
  RawWriter counted(baseline.scratch(), socket, wire::ToHost::kSaved, RawWriter::Mode::kCount);
  TRY(WriteImage(baseline, plan, context, counted));
  if (counted.bytes() > max_bytes) {
    return Error(ErrorCode::kFailedPrecondition,
                 "the session's memory and files are " + std::to_string(counted.bytes() >> 20) +
                     " MiB, and at most " + std::to_string(max_bytes >> 20) +
                     " MiB can be copied; delete what is not needed first");
  }
  RawWriter out(baseline.scratch(), socket, wire::ToHost::kSaved, RawWriter::Mode::kSend);
  TRY(WriteImage(baseline, plan, context, out));
  out.End();
  return {};
}

}  // namespace

Result<Self> SendImage(const Baseline& baseline, const ProcessMapReader& process_map, int socket,
                       std::uint64_t max_bytes) {
  TRY(NoteKernelState(process_map, socket, baseline.scratch()));
  ucontext_t context;
  volatile bool* const is_branch = &baseline.scratch().is_branch;
  *is_branch = false;
  if (::getcontext(&context) != 0) return Error(ErrorCode::kInternal, "no context");
  // Returns twice: here, and in every process that becomes a copy of this one.
  if (*is_branch) return Self::kBranch;
  TRY(CountAndSend(baseline, process_map, socket, max_bytes, context));
  return Self::kSource;
}

}  // namespace caisson::forkserver
