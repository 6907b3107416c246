#include "cli/line_reader.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace caisson::cli {
namespace {

constexpr std::size_t kMaxLineBytes = 4u << 20;

}  // namespace

Result<LineReader> LineReader::Make() {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) return Error::FromErrno(errno, "eventfd");
  return LineReader(std::move(wake));
}

void LineReader::Wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

// Waits for bytes, the end of input, or Wake(). Returns true for Wake().
bool LineReader::FillOrWoken() {
  std::array<pollfd, 2> ready{{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                               {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
  while (::poll(ready.data(), ready.size(), -1) < 0) {
  }
  std::uint64_t wakes = 0;
  if (ready[1].revents != 0 && ::read(wake_.get(), &wakes, sizeof wakes) > 0) return true;
  std::array<char, 4096> piece{};
  const ssize_t n = ::read(STDIN_FILENO, piece.data(), piece.size());
  if (n > 0) buffer_.append(piece.data(), static_cast<std::size_t>(n));
  if (n == 0 || (n < 0 && errno != EINTR) || buffer_.size() > kMaxLineBytes) at_end_ = true;
  return false;
}

std::variant<std::string, LineReader::End> LineReader::Read() {
  while (true) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end + 1);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (at_end_ && buffer_.empty()) return End::kOfInput;
    if (at_end_) return std::exchange(buffer_, {});
    if (FillOrWoken()) return End::kWoken;
  }
}

}  // namespace caisson::cli
