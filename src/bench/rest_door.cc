#include "bench/rest_door.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "bench/door_client.h"

namespace caisson::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpRequests = 200;
constexpr std::string_view kBody = R"({"code":"1+1"})";
constexpr std::string_view kRightAnswer = R"("result":2,)";

std::string RunRequest(std::uint16_t port) {
  return PostRequest(port, "/v1/runs", kBody);
}

Result<Samples> OneAfterAnother(std::uint16_t port, const std::string& request,
                                std::string_view expected, int requests) {
  TRY_ASSIGN(const auto client, DoorClient::Connect(port));
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
      TRY_ASSIGN(auto client, DoorClient::Connect(port));
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
        DoorClient& client = *static_cast<DoorClient*>(event.data.ptr);
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
  std::vector<std::unique_ptr<DoorClient>> clients_;
};

}  // namespace

Result<RestDoor> RestDoor::Open(const ServerPlan& plan) {
  TRY_ASSIGN(HttpServerProcess server, HttpServerProcess::Start(plan));
  return RestDoor(std::move(server));
}

Result<Samples> RestDoor::Runs(int runs) const {
  return OneAfterAnother(port(), RunRequest(port()), kRightAnswer, runs);
}

Result<Samples> RestDoor::Healthz(int requests) const {
  const std::string request =
      "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port()) + "\r\n\r\n";
  return OneAfterAnother(port(), request, "ok\n", requests);
}

Result<RestDoor::Load> RestDoor::ManyRuns(std::size_t connections, int periods,
                                          std::chrono::nanoseconds period) const {
  TRY_ASSIGN(Crowd crowd, Crowd::Gather(port(), connections));
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
