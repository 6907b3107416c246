// Tests the server with well-behaved clients.
#include "net/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <stdexcept>
#include <thread>

#include "net/client_for_test.h"
#include "net/sse.h"

namespace caisson::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kGetEcho = "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";

Handler Echo() {
  return Answering([](Request request) -> asio::awaitable<Response> {
    co_return JsonResponse(200, request.method + ":" + request.body);
  });
}

// Waits until it is cancelled, and records its start and end.
struct Sleeper {
  std::promise<void> begun;
  std::promise<void> ended;

  Handler Handle() {
    return [this](Exchange&) -> asio::awaitable<void> {
      struct Leaving {
        std::promise<void>& ended;
        ~Leaving() { ended.set_value(); }
      } const leaving{ended};
      begun.set_value();
      asio::steady_timer forever(co_await asio::this_coro::executor,
                                 asio::steady_timer::time_point::max());
      co_await forever.async_wait(asio::use_awaitable);
    };
  }
};

template <typename T>
bool InTime(std::promise<T>& promise) {
  return promise.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
}

TEST(Server, AnswersRequestsOneAfterTheOther) {
  Router router;
  router.Add("GET", "/echo", Echo());
  router.Add("POST", "/echo", Echo());
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send(kGetEcho);
  EXPECT_THAT(client.ReadAnswer(), EndsWith("\r\n\r\nGET:"));
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_THAT(client.ReadAnswer(), EndsWith("POST:hello"));
  client.Send("HEAD /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), AllOf(HasSubstr("Content-Length: 5\r\n"), EndsWith("\r\n\r\n")));
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  Router router;
  router.Add("POST", "/echo", Echo());
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n" + std::to_string(10 + i);
  }
  client.Send(all);
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(client.ReadAnswer(), EndsWith("POST:" + std::to_string(10 + i)));
  }
}

TEST(Server, ChunkedBodiesArriveWhole) {
  Router router;
  router.Add("POST", "/echo", Echo());
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n");
  client.Send("2\r\nlo\r\n0\r\n\r\n");
  EXPECT_THAT(client.ReadAnswer(), EndsWith("POST:hello"));
}

TEST(Server, AClientThatExpectsContinueGetsIt) {
  Router router;
  router.Add("POST", "/echo", Echo(), {.max_body_bytes = 5});
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadTo("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("hello");
  EXPECT_THAT(client.ReadAnswer(), EndsWith("POST:hello"));
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 413 "));
}

TEST(Server, StreamsArriveAsTheyAreWritten) {
  std::promise<void> go_on;
  std::shared_future<void> went_on = go_on.get_future();
  Router router;
  router.Add("GET", "/events", [&](Exchange& exchange) -> asio::awaitable<void> {
    auto events = co_await EventStream::Open(exchange);
    if (!events) co_return;
    [[maybe_unused]] const auto sent = co_await events->Send({.name = "first", .data = "1"});
    // A producer on its own thread.
    asio::steady_timer done(co_await asio::this_coro::executor,
                            asio::steady_timer::time_point::max());
    std::thread producer([&, executor = done.get_executor()] {
      went_on.wait();
      events->Post({.data = "2"});
      asio::post(executor, [&] { done.cancel(); });
    });
    co_await done.async_wait(asio::as_tuple(asio::use_awaitable));
    producer.join();
  });
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadTo("\r\n\r\n"), AllOf(HasSubstr("Content-Type: text/event-stream\r\n"),
                                               HasSubstr("Transfer-Encoding: chunked\r\n")));
  EXPECT_EQ(client.ReadTo("1\n\n\r\n"), "16\r\nevent: first\ndata: 1\n\n\r\n");
  go_on.set_value();
  EXPECT_EQ(client.ReadTo("0\r\n\r\n"), "9\r\ndata: 2\n\n\r\n0\r\n\r\n");
}

TEST(Server, SilentStreamsAreKeptAlive) {
  Router router;
  Sleeper sleeper;
  router.Add("GET", "/", [&](Exchange& exchange) -> asio::awaitable<void> {
    const auto stream = co_await exchange.Stream(
        {}, {.keep_alive = ":", .keep_alive_interval = std::chrono::milliseconds(1)});
    co_await sleeper.Handle()(exchange);
  });
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.ReadTo("\r\n\r\n");
  EXPECT_EQ(client.ReadTo("1\r\n:\r\n1\r\n:\r\n1\r\n:\r\n"), "1\r\n:\r\n1\r\n:\r\n1\r\n:\r\n");
}

TEST(Server, OldClientsGetStreamsUntilTheEndOfTheConnection) {
  Router router;
  router.Add("GET", "/", [](Exchange& exchange) -> asio::awaitable<void> {
    const auto stream = co_await exchange.Stream({});
    [[maybe_unused]] const auto written = co_await (*stream)->Write("all of it");
  });
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), AllOf(EndsWith("\r\n\r\nall of it"), Not(HasSubstr("chunked"))));
}

TEST(Server, AHandlerWhoseClientGoesIsCancelled) {
  Sleeper sleeper;
  Router router;
  router.Add("POST", "/sleep", sleeper.Handle());
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("POST /sleep HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
  ASSERT_TRUE(InTime(sleeper.begun));
  client.Close();
  EXPECT_TRUE(InTime(sleeper.ended));
}

TEST(Server, AHalfClosedClientGetsItsAnswer) {
  Router router;
  router.Add("GET", "/echo", Echo());
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send(kGetEcho);
  client.HalfClose();
  EXPECT_THAT(client.ReadAll(), EndsWith("GET:"));
  EXPECT_TRUE(client.IsClosed());
}

TEST(Server, FailuresOfHandlersAreToldAsANumberOnly) {
  std::promise<Served> served;
  Router router;
  router.Add("GET", "/throws", [](Exchange&) -> asio::awaitable<void> {
    throw std::runtime_error("the secret reason");
    co_return;
  });
  TestServer server(std::move(router),
                    {.on_served = [&](const Served& one) { served.set_value(one); }});
  TestClient client(server.endpoint());
  client.Send("GET /throws HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = client.ReadAnswer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
  EXPECT_THAT(answer, HasSubstr("application/problem+json"));
  EXPECT_THAT(answer, Not(HasSubstr("secret")));
  const Served one = served.get_future().get();
  EXPECT_EQ(one.failure, "the secret reason");
  EXPECT_EQ(one.route, "/throws");
  EXPECT_THAT(answer, HasSubstr("\"instance\":\"" + one.instance + "\""));
}

TEST(Server, AStreamWhoseHandlerFailsIsCutNotEnded) {
  Router router;
  router.Add("GET", "/", [](Exchange& exchange) -> asio::awaitable<void> {
    const auto stream = co_await exchange.Stream({});
    [[maybe_unused]] const auto written = co_await (*stream)->Write("half");
    throw std::runtime_error("no more");
  });
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), EndsWith("4\r\nhalf\r\n"));
  EXPECT_TRUE(client.IsClosed());
}

TEST(Server, HandlersAnswerOnce) {
  std::promise<ErrorCode> second;
  Router router;
  router.Add("GET", "/", [&](Exchange& exchange) -> asio::awaitable<void> {
    [[maybe_unused]] const auto sent = co_await exchange.Send({.body = "once"});
    second.set_value((co_await exchange.Stream({})).error().code());
  });
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadAnswer(), EndsWith("once"));
  EXPECT_EQ(second.get_future().get(), ErrorCode::kFailedPrecondition);
}

TEST(Server, AHandlerWithoutAnAnswerGives500) {
  Router router;
  router.Add("GET", "/", [](Exchange&) -> asio::awaitable<void> { co_return; });
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 500 "));
}

TEST(Server, HeaderValuesOfHandlersCannotSplitTheAnswer) {
  Router router;
  router.Add("GET", "/", Answering([](Request) -> asio::awaitable<Response> {
               co_return Response{.headers = {{.name = "X", .value = "a\r\nSet-Cookie: b"}}};
             }));
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadAnswer(), AllOf(StartsWith("HTTP/1.1 500 "), Not(HasSubstr("Cookie"))));
}

TEST(Server, ClosingLetsRequestsUnderWayFinish) {
  std::promise<void> begun;
  std::promise<void> go_on;
  Router router;
  router.Add("GET", "/", [&](Exchange& exchange) -> asio::awaitable<void> {
    begun.set_value();
    // The server's other thread continues to serve.
    go_on.get_future().wait();
    [[maybe_unused]] const auto sent = co_await exchange.Send({.body = "finished"});
  });
  router.Add("GET", "/echo", Echo());
  TestServer server(std::move(router));
  TestClient idle(server.endpoint());
  idle.Send(kGetEcho);
  idle.ReadAnswer();
  TestClient busy(server.endpoint());
  busy.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  begun.get_future().wait();
  auto closed = server.BeginClose(std::chrono::seconds(10));
  EXPECT_TRUE(idle.IsClosed());
  go_on.set_value();
  EXPECT_THAT(busy.ReadAll(), EndsWith("finished"));
  busy.Close();
  EXPECT_EQ(closed.wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(Server, ClosingCancelsHandlersThatTakeTooLong) {
  Sleeper sleeper;
  Router router;
  router.Add("GET", "/sleep", sleeper.Handle());
  TestServer server(std::move(router));
  TestClient client(server.endpoint());
  client.Send("GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(InTime(sleeper.begun));
  auto closed = server.BeginClose(std::chrono::milliseconds(1));
  EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 503 "));
  client.Close();
  EXPECT_EQ(closed.wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(Server, TwoCannotListenAtOnePlace) {
  TestServer server{Router()};
  asio::io_context io;
  const auto second = Server::Listen(io.get_executor(), server.endpoint(), {}, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(second.error().message(), HasSubstr("the address is already in use"));
}

}  // namespace
}  // namespace caisson::net
