#include "engine/native/cell_survey.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "base/memory_maps.h"
#include "engine/native/process_id.h"
#include "wire/survey.h"

namespace caisson {
namespace {

// Of an entry of /proc/PID/pagemap.
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61;
constexpr std::size_t kEntriesAtOnce = 8192;
// Beyond the addresses a process can map: the kernel's own page for old programs.
constexpr std::uint64_t kTop = std::uint64_t{1} << 47;

template <typename T>
void Append(std::string& out, const T& pod) {
  out.append(reinterpret_cast<const char*>(&pod), sizeof pod);
}

Error TooMuch() {
  return Error(ErrorCode::kFailedPrecondition,
               "the session's memory is in too many pieces to be copied");
}

Result<std::string> ReadAll(const UniqueFd& directory, const char* name) {
  const UniqueFd file(::openat(directory.get(), name, O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return Error::FromErrno(errno, "look at a cell");
  std::string text;
  std::array<char, 16384> buffer{};
  while (text.size() <= wire::kMaxSurveyBytes) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0) return Error::FromErrno(errno, "look at a cell");
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return TooMuch();
}

// Calls `visit` with the directory and each name in it.
template <typename Visit>
Result<void> ForEachEntry(const UniqueFd& process, const char* name, Visit visit) {
  const int fd = ::openat(process.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Error::FromErrno(errno, "look at a cell");
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd), ::closedir);
  if (directory == nullptr) return Error::FromErrno(errno, "look at a cell");
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') visit(fd, entry->d_name);
  }
  return {};
}

Result<void> RequireOneThread(const UniqueFd& process) {
  std::size_t threads = 0;
  TRY(ForEachEntry(process, "task", [&](int, const char*) { ++threads; }));
  if (threads == 1) return {};
  return Error(ErrorCode::kFailedPrecondition,
               "the session has threads that still run (" + std::to_string(threads - 1) +
                   "), and they cannot be copied; let them end first");
}

class PageScan {
 public:
  explicit PageScan(UniqueFd pagemap) : pagemap_(std::move(pagemap)) {}

  // Private mappings: pages that are not a file's. Shared ones: all that are there.
  Result<void> Add(const MemoryMapping& mapping) {
    const bool is_shared = mapping.access[3] == 's';
    const std::uint64_t last = mapping.end / kPageBytes;
    for (std::uint64_t page = mapping.begin / kPageBytes; page < last;) {
      const std::size_t count = std::min<std::uint64_t>(entries_.size(), last - page);
      const ssize_t got = ::pread(pagemap_.get(), entries_.data(), count * sizeof entries_[0],
                                  static_cast<off_t>(page * sizeof entries_[0]));
      if (got != static_cast<ssize_t>(count * sizeof entries_[0])) {
        return Error(ErrorCode::kUnavailable, "a cell's pages cannot be looked at");
      }
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t entry = entries_[i];
        const bool is_there = (entry & (kPresent | kSwapped)) != 0;
        if (is_there && (is_shared || (entry & kOfFile) == 0)) AddPage(page + i);
      }
      page += count;
    }
    return {};
  }

  const std::vector<wire::SurveyedPages>& runs() const { return runs_; }

 private:
  static constexpr std::uint64_t kPageBytes = 4096;

  void AddPage(std::uint64_t page) {
    const std::uint64_t begin = page * kPageBytes;
    if (!runs_.empty() && runs_.back().end == begin) {
      runs_.back().end += kPageBytes;
    } else {
      runs_.push_back({.begin = begin, .end = begin + kPageBytes});
    }
  }

  UniqueFd pagemap_;
  std::vector<std::uint64_t> entries_ = std::vector<std::uint64_t>(kEntriesAtOnce);
  std::vector<wire::SurveyedPages> runs_;
};

void Append(std::string& out, const MemoryMapping& mapping) {
  const std::string& access = mapping.access;
  Append(out,
         wire::SurveyedMapping{.begin = mapping.begin,
                               .end = mapping.end,
                               .offset = mapping.offset,
                               .device = mapping.device,
                               .inode = mapping.inode,
                               .access = (access[0] == 'r' ? wire::kMayRead : 0u) |
                                         (access[1] == 'w' ? wire::kMayWrite : 0u) |
                                         (access[2] == 'x' ? wire::kMayExecute : 0u) |
                                         (access[3] == 's' ? wire::kIsShared : 0u),
                               .path_length = static_cast<std::uint32_t>(mapping.path.size())});
  out.append(mapping.path);
}

// Appends the descriptors, and returns how many.
Result<std::uint32_t> AppendDescriptors(const UniqueFd& process, std::string& out) {
  std::uint32_t count = 0;
  TRY(ForEachEntry(process, "fd", [&](int directory, const char* name) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(directory, name, target.data(), target.size());
    if (length < 0) return;
    Append(out, wire::SurveyedDescriptor{.number = std::atoi(name),
                                         .target_length = static_cast<std::uint32_t>(length)});
    out.append(target.data(), static_cast<std::size_t>(length));
    ++count;
  }));
  return count;
}

}  // namespace

Result<CellSurvey> SurveyCell(const UniqueFd& pidfd, PipeNumbers pipes) {
  const auto pid = PidOf(pidfd);
  if (!pid) return Error(ErrorCode::kUnavailable, "the cell is gone");
  const UniqueFd process(::open(("/proc/" + std::to_string(*pid)).c_str(),
                                O_PATH | O_DIRECTORY | O_CLOEXEC));
  // From here on it is this process, or nobody: it was there after it was opened.
  if (!process.is_open() || !IsThere(pidfd)) {
    return Error(ErrorCode::kUnavailable, "the cell is gone");
  }
  TRY(RequireOneThread(process));
  TRY_ASSIGN(const std::string text, ReadAll(process, "maps"));
  TRY_ASSIGN(const std::vector<MemoryMapping> mappings, ParseMemoryMaps(text));
  PageScan pages(UniqueFd(::openat(process.get(), "pagemap", O_RDONLY | O_CLOEXEC)));
  std::string listed;
  std::uint32_t count = 0;
  for (const MemoryMapping& mapping : mappings) {
    if (mapping.begin >= kTop) continue;
    TRY(pages.Add(mapping));
    Append(listed, mapping);
    ++count;
  }
  TRY_ASSIGN(const std::uint32_t descriptors, AppendDescriptors(process, listed));
  CellSurvey survey;
  Append(survey.bytes, wire::SurveyHeader{.pages = static_cast<std::uint32_t>(pages.runs().size()),
                                    .mappings = count,
                                    .descriptors = descriptors,
                                    .reserved = 0,
                                    .stdout_inode = pipes.out,
                                    .stderr_inode = pipes.error_out});
  for (const wire::SurveyedPages& run : pages.runs()) {
    Append(survey.bytes, run);
    survey.own_bytes += run.end - run.begin;
  }
  survey.bytes.append(listed);
  if (survey.bytes.size() > wire::kMaxSurveyBytes) return TooMuch();
  return survey;
}

}  // namespace caisson
