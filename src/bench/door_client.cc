#include "bench/door_client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace caisson::bench {
namespace {

constexpr std::string_view kLength = "Content-Length: ";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";

}  // namespace

std::string PostRequest(std::uint16_t port, std::string_view path, std::string_view body) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string(body);
}

Result<std::unique_ptr<DoorClient>> DoorClient::Connect(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return Error::FromErrno(errno, "create a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error::FromErrno(errno, "connect to the server");
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return std::make_unique<DoorClient>(std::move(fd));
}

Result<void> DoorClient::Ask(const std::string& request) {
  asked_at_ = std::chrono::steady_clock::now();
  answer_.clear();
  const ssize_t sent = ::send(fd(), request.data(), request.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(request.size())) return {};
  return Error::FromErrno(errno, "send a request");
}

bool DoorClient::IsComplete() const {
  const std::size_t head = answer_.find(kHeadEnd);
  if (head == answer_.npos) return false;
  const std::size_t at = answer_.find(kLength);
  if (at > head) return answer_.ends_with(kLastChunk);
  std::size_t length = 0;
  std::from_chars(answer_.data() + at + kLength.size(), answer_.data() + head, length);
  return answer_.size() >= head + kHeadEnd.size() + length;
}

Result<bool> DoorClient::Read() {
  std::array<char, 8192> buffer;
  const ssize_t size = ::recv(fd(), buffer.data(), buffer.size(), 0);
  if (size <= 0) return Error(ErrorCode::kInternal, "the server closed the connection");
  answer_.append(buffer.data(), static_cast<std::size_t>(size));
  return IsComplete();
}

Result<void> DoorClient::ReadUntil(std::string_view text) {
  while (answer_.find(text) == answer_.npos) {
    if (IsComplete()) {
      return Error(ErrorCode::kInternal, "an answer without " + std::string(text) + ": " + answer_);
    }
    TRY(Read());
  }
  return {};
}

Result<void> DoorClient::ReadToEnd() {
  while (!IsComplete()) TRY(Read());
  return {};
}

Result<void> DoorClient::Expect(std::string_view text) const {
  if (answer_.starts_with("HTTP/1.1 200 ") && answer_.find(text) != answer_.npos) return {};
  return Error(ErrorCode::kInternal, "a wrong answer: " + answer_);
}

}  // namespace caisson::bench
