#include "engine/native/cell_process_map.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "base/memory_maps.h"
#include "engine/native/process_id.h"
#include "wire/process_map.h"

namespace caisson {
namespace {

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
  while (text.size() <= wire::kMaxProcessMapBytes) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0) return Error::FromErrno(errno, "look at a cell");
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return TooMuch();
}

Result<std::size_t> CountThreads(const UniqueFd& process) {
  UniqueFd fd(::openat(process.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(fd.is_open() ? ::fdopendir(fd.get()) : nullptr,
                                                  ::closedir);
  if (!tasks) return Error::FromErrno(errno, "look at a cell");
  static_cast<void>(fd.Release());  // Closed with the stream.
  std::size_t threads = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is our own.
  while (const dirent* entry = ::readdir(tasks.get())) threads += entry->d_name[0] != '.' ? 1 : 0;
  return threads;
}

void AppendMapping(const MemoryMapping& mapping, std::string& out) {
  const std::string& access = mapping.access;
  Append(out,
         wire::ProcessMapEntry{.begin = mapping.begin,
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

}  // namespace

Result<ProcessMap> MapCellProcesses(const UniqueFd& pidfd, PipeNumbers pipes) {
  const auto pid = PidOf(pidfd);
  if (!pid) return Error(ErrorCode::kUnavailable, "the cell is gone");
  const UniqueFd process(
      ::open(("/proc/" + std::to_string(*pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // From here on it is this process or none: it still existed after it was opened.
  if (!process.is_open() || !IsThere(pidfd)) {
    return Error(ErrorCode::kUnavailable, "the cell is gone");
  }
  TRY_ASSIGN(const std::size_t threads, CountThreads(process));
  if (threads > 1) return ProcessMap{.bytes = {}, .other_threads = threads - 1};
  TRY_ASSIGN(const std::string text, ReadAll(process, "maps"));
  TRY_ASSIGN(const std::vector<MemoryMapping> mappings, ParseMemoryMaps(text));
  std::string listed;
  std::uint32_t count = 0;
  for (const MemoryMapping& mapping : mappings) {
    if (mapping.begin >= wire::kAddressEnd) continue;
    AppendMapping(mapping, listed);
    ++count;
  }
  std::string process_map;
  Append(process_map, wire::ProcessMapHeader{.mappings = count,
                                             .reserved = 0,
                                             .stdout_inode = pipes.out,
                                             .stderr_inode = pipes.error_out});
  process_map.append(listed);
  if (process_map.size() > wire::kMaxProcessMapBytes) return TooMuch();
  return ProcessMap{.bytes = std::move(process_map)};
}

}  // namespace caisson
