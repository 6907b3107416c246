// A server and clients that mean it harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>

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
  // Everything the server says to these bytes, until it closes.
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

TEST_F(HostileClient, WhatIsNoRequestIsRefused) {
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

TEST_F(HostileClient, WhatIsTooLongIsRefused) {
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

TEST_F(HostileClient, HalfARequestIsNone) {
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

TEST_F(HostileClient, OneThatDoesNotReadIsCutOff) {
  std::promise<ErrorCode> told;
  Router router;
  router.Add("GET", "/", [&](Exchange& exchange) -> asio::awaitable<void> {
    // A handler may live on for a moment: it is told by its writes.
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

TEST_F(HostileClient, BodiesOfAllTogetherAreBounded) {
  TestServer server(Routes(), {.max_bodies_bytes = 1000});
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\n\r\n";
  auto slow = std::make_unique<TestClient>(server.endpoint());
  slow->Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\nExpect: 100-continue\r\n\r\n");
  slow->ReadTo("\r\n\r\n");  // It has its share by now.
  TestClient second(server.endpoint());
  second.Send(head + std::string(600, 'a'));
  EXPECT_THAT(second.ReadAnswer(),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1\r\n")));
  slow->Send(std::string(600, 'a'));
  EXPECT_THAT(slow->ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  // What was answered gives its share back, though its client stays; it may take a moment.
  for (bool served = false; !served;) {
    TestClient next(server.endpoint());
    next.Send(head + std::string(600, 'a'));
    served = next.ReadAnswer().starts_with("HTTP/1.1 200 ");
  }
}

TEST_F(HostileClient, ManyAreTurnedAwayUntilSomeLeave) {
  TestServer server(Routes(), {.max_connections = 2});
  auto first = std::make_unique<TestClient>(server.endpoint());
  TestClient second(server.endpoint());
  for (TestClient* client : {first.get(), &second}) {
    client->Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client->ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  }
  TestClient third(server.endpoint());
  EXPECT_TRUE(third.IsClosed());
  first.reset();
  // The server learns of it in its own time.
  for (bool served = false; !served;) {
    TestClient next(server.endpoint());
    next.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    served = next.ReadAnswer().starts_with("HTTP/1.1 200 ");
  }
}

}  // namespace
}  // namespace caisson::net
