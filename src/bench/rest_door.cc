#include "bench/rest_door.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace caisson::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpRequests = 200;
constexpr std::string_view kBody = R"({"code":"1+1"})";
constexpr std::string_view kRightAnswer = R"("result":2,)";
constexpr std::string_view kLength = "Content-Length: ";

std::string RunRequest(std::uint16_t port) {
  return "POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(kBody.size()) +
         "\r\n\r\n" + std::string(kBody);
}

// A persistent connection with at most one request under way. Reads no more of an answer than a
// client must to find its end.
class RestClient {
 public:
  static Result<std::unique_ptr<RestClient>> Connect(std::uint16_t port) {
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
    return std::make_unique<RestClient>(std::move(fd));
  }
  explicit RestClient(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  double waited_us() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - asked_at_).count();
  }

  Result<void> Ask(const std::string& request) {
    asked_at_ = Clock::now();
    answer_.clear();
    const ssize_t sent = ::send(fd(), request.data(), request.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(request.size())) return {};
    return Error::FromErrno(errno, "send a request");
  }

  // Reads once, which may block. Returns true when the answer is complete.
  Result<bool> Read() {
    std::array<char, 8192> buffer;
    const ssize_t size = ::recv(fd(), buffer.data(), buffer.size(), 0);
    if (size <= 0) return Error(ErrorCode::kInternal, "the server closed the connection");
    answer_.append(buffer.data(), static_cast<std::size_t>(size));
    const std::size_t head = answer_.find("\r\n\r\n");
    const std::size_t at = answer_.find(kLength);
    if (head == answer_.npos || at > head) return false;
    std::size_t length = 0;
    std::from_chars(answer_.data() + at + kLength.size(), answer_.data() + head, length);
    return answer_.size() >= head + 4 + length;
  }

  Result<void> Expect(std::string_view text) const {
    if (answer_.starts_with("HTTP/1.1 200 ") && answer_.find(text) != answer_.npos) return {};
    return Error(ErrorCode::kInternal, "a wrong answer: " + answer_);
  }

 private:
  UniqueFd fd_;
  std::string answer_;
  Clock::time_point asked_at_{};
};

Result<Samples> OneAfterAnother(std::uint16_t port, const std::string& request,
                                std::string_view expected, int requests) {
  TRY_ASSIGN(const auto client, RestClient::Connect(port));
  Samples samples;
  for (int i = -kWarmUpRequests; i < requests; ++i) {
    TRY(client->Ask(request));
    for (bool whole = false; !whole;) {
      TRY_ASSIGN(whole, client->Read());
    }
    const double took = client->waited_us();
    TRY(client->Expect(expected));
    if (i >= 0) samples.push_back(took);
  }
  return samples;
}

// All connections ask again as soon as they are answered.
class Crowd {
 public:
  static Result<Crowd> Gather(std::uint16_t port, std::size_t connections) {
    Crowd crowd(UniqueFd(::epoll_create1(EPOLL_CLOEXEC)), RunRequest(port));
    for (std::size_t i = 0; i < connections; ++i) {
      TRY_ASSIGN(auto client, RestClient::Connect(port));
      epoll_event event{.events = EPOLLIN, .data = {.ptr = client.get()}};
      if (::epoll_ctl(crowd.epoll_.get(), EPOLL_CTL_ADD, client->fd(), &event) != 0) {
        return Error::FromErrno(errno, "wait for answers");
      }
      crowd.clients_.push_back(std::move(client));
    }
    for (const auto& client : crowd.clients_) TRY(client->Ask(crowd.request_));
    return crowd;
  }

  // Returns the time of each request that was answered within the period.
  Result<Samples> Serve(std::chrono::nanoseconds period) {
    Samples samples;
    std::array<epoll_event, 64> events;
    const auto end = Clock::now() + period;
    while (Clock::now() < end) {
      const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), 5000);
      if (count <= 0) return Error(ErrorCode::kInternal, "the server does not answer");
      for (const epoll_event& event : std::span(events).first(static_cast<std::size_t>(count))) {
        RestClient& client = *static_cast<RestClient*>(event.data.ptr);
        TRY_ASSIGN(const bool whole, client.Read());
        if (!whole) continue;
        samples.push_back(client.waited_us());
        TRY(client.Expect(kRightAnswer));
        TRY(client.Ask(request_));
      }
    }
    return samples;
  }

 private:
  Crowd(UniqueFd epoll, std::string request)
      : epoll_(std::move(epoll)), request_(std::move(request)) {}

  UniqueFd epoll_;
  std::string request_;
  std::vector<std::unique_ptr<RestClient>> clients_;
};

}  // namespace

Result<RestDoor> RestDoor::Open(const ServerPlan& plan) {
  TRY_ASSIGN(ScratchDirectory home, ScratchDirectory::Make());
  const std::string config = home.path() + "/caisson.toml";
  std::ofstream(config) << "[store]\nurl = \"sqlite:runs.db\"\n";
  TRY_ASSIGN(ServerProcess server,
             ServerProcess::Start(plan, {"serve", "--config", config, "--listen", "127.0.0.1:0"},
                                  home.path()));
  TRY_ASSIGN(const std::string line, server.ReadLine());  // "listening on http://127.0.0.1:PORT"
  std::uint16_t port = 0;
  std::from_chars(line.data() + line.rfind(':') + 1, line.data() + line.size(), port);
  if (port == 0) return Error(ErrorCode::kInternal, "the server said \"" + line + "\"");
  return RestDoor(std::move(home), std::move(server), port);
}

Result<Samples> RestDoor::Runs(int runs) const {
  return OneAfterAnother(port_, RunRequest(port_), kRightAnswer, runs);
}

Result<Samples> RestDoor::Healthz(int requests) const {
  const std::string request =
      "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n\r\n";
  return OneAfterAnother(port_, request, "ok\n", requests);
}

Result<RestDoor::Load> RestDoor::ManyRuns(std::size_t connections, int periods,
                                          std::chrono::nanoseconds period) const {
  TRY_ASSIGN(Crowd crowd, Crowd::Gather(port_, connections));
  TRY(crowd.Serve(period / 4));  // Warms up.
  Load load;
  for (int i = 0; i < periods; ++i) {
    TRY_ASSIGN(Samples times, crowd.Serve(period));
    const auto seconds = std::chrono::duration<double>(period).count();
    load.per_second.push_back(static_cast<double>(times.size()) / seconds);
    load.p99_us.push_back(Summarise(std::move(times)).p99);
  }
  return load;
}

}  // namespace caisson::bench
