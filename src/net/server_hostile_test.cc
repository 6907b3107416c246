// Tests the server with hostile clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <any>
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include "net/client_for_test.h"
#include "net/server.h"

namespace caisson::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HostileClient : public testing::Test {
 protected:
  static Router Routes() {
    Router router;
    const Handler echo = Answering([](Request request) -> asio::awaitable<Response> {
      const std::string* secret = request.headers.Find("X-Secret");
      co_return Response{.body = "[" + request.body + "]" + (secret ? *secret : "")};
    });
    router.Add("GET", "/", echo);
    router.Add("POST", "/", echo, {.max_body_bytes = 1000});
    return router;
  }
  // Returns everything that the server sends in reply to these bytes, until it closes.
  static std::string Answers(std::string_view bytes, ServerOptions options = {}) {
    TestServer server(Routes(), std::move(options));
    TestClient client(server.endpoint());
    client.Send(bytes);
    std::string all = client.ReadAll();
    EXPECT_TRUE(client.IsClosed()) << bytes.substr(0, 200);
    return all;
  }
};

TEST_F(HostileClient, RequestsWithTwoEndsAreRefusedAndNothingAfterThemIsRead) {
  const std::string smuggled = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  for (const std::string& framing : {
           std::string("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
           std::string("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n"),
           std::string("Transfer-Encoding: xchunked\r\n\r\n"),
           std::string("Transfer-Encoding: chunked, identity\r\n\r\n"),
           std::string("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
           std::string("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
           std::string("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"),
           std::string("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
           std::string("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
           std::string("Transfer-Encoding:\x0b chunked\r\n\r\n0\r\n\r\n"),
           std::string("Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
           std::string("Content-Length: 0\r\nContent-Length: 5\r\n\r\n"),
           std::string("Content-Length: 0, 0\r\n\r\n"),
           std::string("Content-Length: +0\r\n\r\n"),
           std::string("Content-Length: -1\r\n\r\n"),
           std::string("Content-Length: 0x0\r\n\r\n"),
           std::string("Content-Length: \r\n\r\n"),
           std::string("Content-Length: 18446744073709551616\r\n\r\n"),
       }) {
    const std::string answer = Answers("POST / HTTP/1.1\r\nHost: x\r\n" + framing + smuggled);
    EXPECT_THAT(answer, testing::AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.1 501 ")))
        << framing;
    EXPECT_THAT(answer, Not(HasSubstr("200 OK"))) << framing;
  }
}

TEST_F(HostileClient, BadChunksAreRefused) {
  for (const char* body : {"x\r\n", "-1\r\n", "5\r\nhelloXX0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
                           "5 \nhello\r\n0\r\n\r\n", "5;\x01\r\nhello\r\n0\r\n\r\n",
                           "fffffffffffffffff\r\n", "\r\n"}) {
    EXPECT_THAT(
        Answers(std::string("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n") +
                body),
        testing::AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.1 413 ")))
        << body;
  }
}

TEST_F(HostileClient, TrailersAreNoHeaders) {
  EXPECT_THAT(Answers("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: "
                      "chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Secret: late\r\n\r\n"),
              EndsWith("[hi]"));
}

TEST_F(HostileClient, MalformedRequestsAreRefused) {
  using namespace std::string_literals;
  for (const std::string& bytes : {
           std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS\r\n\r\n"),
           std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
           std::string("GET / HTTP/3.0\r\nHost: x\r\n\r\n"),
           std::string("GET /\r\n\r\n"),
           std::string("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
           std::string("GET / HTTP/1.1\nHost: x\n\n\r\n\r\n"),
           "GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n"s,
           std::string("GET / HTTP/1.1\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: x\r\n: empty\r\n\r\n"),
       }) {
    EXPECT_THAT(Answers(bytes),
                testing::AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.1 505 ")))
        << bytes;
  }
}

TEST_F(HostileClient, HeadsAndBodiesThatAreTooLongAreRefused) {
  const std::string begin = "GET / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_THAT(Answers(begin + "X: " + std::string(100'000, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  std::string many = begin;
  for (int i = 0; i < 20'000; ++i) many += "A: b\r\n";
  EXPECT_THAT(Answers(many + "\r\n"), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Answers("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Answers("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n" +
                      std::string(1001, 'a')),
              StartsWith("HTTP/1.1 413 "));
  std::string chunks = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 11; ++i) chunks += "64\r\n" + std::string(100, 'a') + "\r\n";
  EXPECT_THAT(Answers(chunks + "0\r\n\r\n"), StartsWith("HTTP/1.1 413 "));
}

TEST_F(HostileClient, RefusalsWithoutABodyLeaveTheConnection) {
  TestServer server(Routes());
  TestClient client(server.endpoint());
  client.Send("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\nDELETE / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(client.ReadAnswer(),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD, POST\r\n")));
  client.Send("GET /a/../b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 400 "));
}

TEST_F(HostileClient, OnesOfOtherOriginsAreRefusedBeforeTheirBody) {
  const ServerOptions options{.access = AccessRules::LoopbackOnly()};
  EXPECT_THAT(
      Answers("POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 5\r\n\r\n", options),
      StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Answers("POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n"
                      "Content-Length: 5\r\n\r\n",
                      options),
              StartsWith("HTTP/1.1 403 "));
}

TEST_F(HostileClient, SlowOnesAreTimedOutAndStallNobody) {
  TestServer server(Routes(), {.head_time = std::chrono::milliseconds(200),
                               .body_time = std::chrono::milliseconds(200),
                               .idle_time = std::chrono::milliseconds(200)});
  TestClient silent(server.endpoint());
  TestClient slow_head(server.endpoint());
  slow_head.Send("GET / HTTP/1.1\r\nHost: x\r\nX-");
  TestClient slow_body(server.endpoint());
  slow_body.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe");
  TestClient quick(server.endpoint());
  quick.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(quick.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(slow_head.ReadAll(), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(slow_body.ReadAll(), StartsWith("HTTP/1.1 408 "));
  EXPECT_TRUE(silent.IsClosed());
  EXPECT_TRUE(quick.IsClosed());  // Idle for too long.
}

TEST_F(HostileClient, AnIncompleteRequestReachesNoHandler) {
  std::promise<void> served;
  Router router;
  router.Add("POST", "/", [&](Exchange&) -> asio::awaitable<void> {
    served.set_value();
    co_return;
  });
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
  client.HalfClose();
  EXPECT_EQ(client.ReadAll(), "");
  EXPECT_EQ(served.get_future().wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

TEST_F(HostileClient, AClientThatDoesNotReadIsCutOff) {
  std::promise<ErrorCode> told;
  Router router;
  router.Add("GET", "/", [&](Exchange& exchange) -> asio::awaitable<void> {
    // A handler may run on for a moment; its writes fail.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    const auto stream = co_await exchange.Stream({});
    const std::string bytes(1u << 20, 'a');
    for (;;) {
      if (auto written = co_await (*stream)->Write(bytes); !written) {
        told.set_value(written.error().code());
        co_return;
      }
    }
  });
  TestServer server(std::move(router), {.write_time = std::chrono::milliseconds(200)});
  TestClient client(server.endpoint());
  client.ShrinkReceiveBuffer();
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(told.get_future().get(), ErrorCode::kUnavailable);
}

TEST_F(HostileClient, PostsThatPileUpCutItOff) {
  std::promise<void> ended;
  Router router;
  router.Add("GET", "/", [&](Exchange& exchange) -> asio::awaitable<void> {
    struct Leaving {
      std::promise<void>& ended;
      ~Leaving() { ended.set_value(); }
    } const leaving{ended};
    const auto stream = co_await exchange.Stream({});
    for (int i = 0; i < 100; ++i) (*stream)->Post(std::string(1u << 20, 'a'));
    asio::steady_timer forever(co_await asio::this_coro::executor,
                               asio::steady_timer::time_point::max());
    co_await forever.async_wait(asio::use_awaitable);
  });
  TestServer server(std::move(router), {.max_queued_bytes = 2u << 20});
  TestClient client(server.endpoint());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(ended.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

// Requests to /hold wait in their handler until they are released. /health is reserved. A screen in
// front of /hold and / identifies senders by the header "Key" and charges them by that name.
class CrowdedServer : public HostileClient {
 protected:
  void Start(ServerOptions options) {
    Router router;
    const Screen screen = [this](Request& head) -> asio::awaitable<std::optional<Response>> {
      ++screened_;
      const std::string* key = head.headers.Find("Key");
      if (key == nullptr) co_return ToResponse({.status = 401});
      head.account = *key;
      head.caller = *key;
      co_return std::nullopt;
    };
    router.Add("GET", "/", Answering([](Request) -> asio::awaitable<Response> {
                 co_return Response{.body = "public"};
               }));
    router.Add("POST", "/", Answering([](Request request) -> asio::awaitable<Response> {
                 co_return Response{.body = std::any_cast<std::string>(request.caller)};
               }),
               {.max_body_bytes = 1000, .screen = screen});
    router.Add("POST", "/hold", [this](Exchange& exchange) { return Hold(exchange); },
               {.max_body_bytes = 1000, .screen = screen});
    router.Add("GET", "/health", Answering([](Request) -> asio::awaitable<Response> {
                 co_return Response{.body = "well"};
               }),
               {.capacity = Capacity::kReserved});
    server_.emplace(std::move(router), std::move(options));
  }

  asio::awaitable<void> Hold(Exchange& exchange) {
    asio::steady_timer forever(co_await asio::this_coro::executor,
                               asio::steady_timer::time_point::max());
    held_.release();
    co_await forever.async_wait(asio::use_awaitable);  // Cancelled when its client disconnects.
    static_cast<void>(co_await exchange.Send({}));
  }

  TestClient& Connect(const char* from = "127.0.0.1") {
    clients_.push_back(std::make_unique<TestClient>(server_->endpoint(), from));
    return *clients_.back();
  }
  static std::string Post(std::string_view path, std::string_view key, std::size_t bytes) {
    return "POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nKey: " + std::string(key) +
           "\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'a');
  }
  static std::string Get(std::string_view path) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  std::string Answer(std::string_view request, const char* from = "127.0.0.1") {
    TestClient client(server_->endpoint(), from);
    client.Send(request);
    return client.ReadAnswer();
  }
  // Returns when the request is in its handler.
  TestClient& HoldOne(std::string_view key, std::size_t bytes, const char* from = "127.0.0.1") {
    TestClient& client = Connect(from);
    client.Send(Post("/hold", key, bytes));
    EXPECT_TRUE(held_.try_acquire_for(std::chrono::seconds(10)));
    return client;
  }

  std::counting_semaphore<> held_{0};
  std::atomic<int> screened_ = 0;
  std::optional<TestServer> server_;
  std::vector<std::unique_ptr<TestClient>> clients_;
};

TEST_F(CrowdedServer, SendersAreJudgedByTheHeadBeforeTheirBody) {
  Start({});
  TestClient& client = Connect();
  // The body is not sent.
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 401 "));
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(screened_, 1);
  TestClient& waiting = Connect();
  waiting.Send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 900\r\n\r\n");
  EXPECT_THAT(waiting.ReadAll(), StartsWith("HTTP/1.1 401 "));
}

TEST_F(CrowdedServer, TheHandlerGetsTheCallerFromTheScreen) {
  Start({});
  EXPECT_THAT(Answer(Post("/", "ann", 3)), EndsWith("ann"));
  EXPECT_EQ(screened_, 1);
}

TEST_F(CrowdedServer, AnnouncedBodiesTakeNoMemory) {
  Start({.max_bodies_bytes = 1000, .max_bodies_bytes_per_account = 1000});
  for (int i = 0; i < 40; ++i) {
    TestClient& idle = Connect();
    idle.Send(
        "POST / HTTP/1.1\r\nHost: x\r\nKey: eve\r\nExpect: 100-continue\r\n"
        "Content-Length: 1000\r\n\r\n");
    EXPECT_THAT(idle.ReadTo("\r\n\r\n"), StartsWith("HTTP/1.1 100 "));
  }
  EXPECT_THAT(Answer(Post("/", "ann", 1000)), StartsWith("HTTP/1.1 200 "));
}

TEST_F(CrowdedServer, BodiesOfOneSenderAreBounded) {
  Start({.max_bodies_bytes = 5000, .max_bodies_bytes_per_account = 1000});
  HoldOne("eve", 600);
  EXPECT_THAT(Answer(Post("/", "eve", 600)),
              AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: 1\r\n")));
  EXPECT_THAT(Answer(Post("/", "eve", 400)), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Answer(Post("/", "ann", 600)), StartsWith("HTTP/1.1 200 "));
}

TEST_F(CrowdedServer, BodiesOfAllTogetherAreBounded) {
  Start({.max_bodies_bytes = 1000, .max_bodies_bytes_per_account = 1000});
  HoldOne("eve", 600).Close();
  HoldOne("ann", 400);
  // The share of a disconnected client is returned after a moment.
  for (bool served = false; !served;) {
    served = Answer(Post("/", "bob", 600)).starts_with("HTTP/1.1 200 ");
  }
  EXPECT_THAT(Answer(Post("/", "bob", 601)),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1\r\n")));
}

TEST_F(CrowdedServer, IdleConnectionsMakeRoomForNewOnes) {
  Start({.connections = {.connections = 2, .reserved = 1}});
  TestClient& oldest = Connect();
  TestClient& second = Connect();
  EXPECT_THAT(Answer(Get("/")), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(oldest.IsClosed());
  second.Send(Get("/"));
  EXPECT_THAT(second.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(CrowdedServer, ThePeerWithMostConnectionsMakesRoom) {
  Start({.connections = {.connections = 3, .reserved = 1}});
  TestClient& alone = Connect("127.0.0.2");
  TestClient& many = Connect("127.0.0.3");
  Connect("127.0.0.3");
  EXPECT_THAT(Answer(Get("/")), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(many.IsClosed());
  alone.Send(Get("/"));
  EXPECT_THAT(alone.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(CrowdedServer, AFloodOfSilentConnectionsStopsNobody) {
  Start({.connections = {.connections = 20, .reserved = 2, .per_peer = 1000}});
  for (int i = 0; i < 300; ++i) Connect();
  EXPECT_THAT(Answer(Get("/health")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Answer(Get("/")), StartsWith("HTTP/1.1 200 "));
}

TEST_F(CrowdedServer, ReservedRoutesAnswerWhenAllConnectionsAreServed) {
  Start({.connections = {.connections = 2, .reserved = 2}});
  HoldOne("eve", 1);
  HoldOne("eve", 1);
  EXPECT_THAT(Answer(Get("/")), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1\r\n"),
                                      HasSubstr("server.max_connections")));
  // Silent clients do not use up the reserve.
  for (int i = 0; i < 10; ++i) Connect();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Answer(Get("/health")),
                AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Connection: close\r\n")));
  }
}

TEST_F(CrowdedServer, OnePeerHasItsOwnLimitAndOthersDoNotSeeIt) {
  Start({.connections = {.per_peer = 2}});
  HoldOne("eve", 1, "127.0.0.2");
  HoldOne("eve", 1, "127.0.0.2");
  EXPECT_THAT(Answer(Get("/"), "127.0.0.2"),
              AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("Retry-After: 1\r\n"),
                    HasSubstr("server.max_connections_per_peer")));
  EXPECT_THAT(Answer(Get("/health"), "127.0.0.2"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Answer(Get("/"), "127.0.0.3"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(CrowdedServer, AProxyIsNotOnePeer) {
  Start({.connections = {.per_peer = 2, .proxies = {*Network::Parse("127.0.0.0/29")}}});
  for (int i = 0; i < 5; ++i) HoldOne("eve", 1, "127.0.0.2");
  EXPECT_THAT(Answer(Get("/"), "127.0.0.2"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(CrowdedServer, SlowHeadsOfOnePeerAreBounded) {
  Start({.connections = {.slow_heads_per_peer = 2, .slow_after = std::chrono::seconds(0)}});
  TestClient& other = Connect("127.0.0.3");
  other.Send("GET / HT");
  std::vector<TestClient*> slow;
  for (int i = 0; i < 3; ++i) {
    slow.push_back(&Connect("127.0.0.2"));
    slow.back()->Send("GET / HT");
  }
  EXPECT_THAT(Answer(Get("/"), "127.0.0.2"), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(slow.front()->IsClosed());
  for (TestClient* client : {slow.back(), &other}) {
    client->Send("TP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client->ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  }
}

}  // namespace
}  // namespace caisson::net
