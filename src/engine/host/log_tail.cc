#include "engine/host/log_tail.h"

#include <unistd.h>

#include <array>

namespace caisson {
namespace {

constexpr std::size_t kTailBytes = 2048;
constexpr int kMaxReads = 64;

}  // namespace

std::string ReadLogTail(const UniqueFd& log) {
  std::string tail;
  std::array<char, 4096> buffer{};
  for (int reads = 0; reads < kMaxReads; ++reads) {
    const ssize_t n = ::read(log.get(), buffer.data(), buffer.size());
    if (n <= 0) break;
    tail.append(buffer.data(), static_cast<std::size_t>(n));
    if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
  }
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ')) tail.pop_back();
  return tail;
}

}  // namespace caisson
