#include "cli/source_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/unique_fd.h"

namespace caisson::cli {
namespace {

constexpr std::size_t kPieceBytes = 64u << 10;

Result<std::string> ReadAll(const UniqueFd& file, const std::string& name, std::size_t max_bytes) {
  std::string text;
  std::size_t used = 0;
  while (used <= max_bytes) {
    text.resize(std::min(used + kPieceBytes, max_bytes + 1));
    const ssize_t n = ::read(file.get(), text.data() + used, text.size() - used);
    if (n == 0) break;
    if (n > 0) {
      used += static_cast<std::size_t>(n);
    } else if (errno == EISDIR) {
      return Error(ErrorCode::kInvalidArgument,
                   name + " is a directory; give a file with Python code");
    } else if (errno == EBADF) {
      return Error(ErrorCode::kInvalidArgument, name + " is closed; give a file with Python code");
    } else if (errno != EINTR) {
      return Error::FromErrno(errno, "cannot read " + name);
    }
  }
  text.resize(used);
  return text;
}

}  // namespace

Result<std::string> ReadSource(const std::string& path, std::size_t max_bytes) {
  const bool from_stdin = path.empty() || path == "-";
  const UniqueFd file(from_stdin ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return Error::FromErrno(errno, "cannot read " + (from_stdin ? std::string("stdin") : path));
  }
  return ReadAll(file, from_stdin ? "stdin" : path, max_bytes);
}

}  // namespace caisson::cli
