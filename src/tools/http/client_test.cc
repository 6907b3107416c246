#include "tools/http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/spawn.h"

namespace caisson {
namespace {

using asio::ip::tcp;
using ::testing::ElementsAre;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";

// A server that sends one piece after the other, each when the previous one was taken, and then
// stays silent.
class BodySinkTest : public ::testing::Test {
 protected:
  BodySinkTest() {
    auto client = HttpClient::Make({.resolver = {}, .max_response_bytes = 100});
    EXPECT_TRUE(client);
    client_ = *std::move(client);
  }

  asio::awaitable<void> Serve(std::vector<std::string> pieces) {
    auto [failed, socket] = co_await acceptor_.async_accept(kQuietly);
    std::string request;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n", kQuietly);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      while (taken_pieces_.size() + 1 < i) co_await taken_.async_wait(kQuietly);
      co_await asio::async_write(socket, asio::buffer(pieces[i]), kQuietly);
    }
    // Waits until the client disconnects.
    co_await asio::async_read_until(socket, asio::dynamic_buffer(request), "never", kQuietly);
  }

  Result<HttpResponse> Send(std::vector<std::string> pieces, BodySink sink) {
    Spawn(io_.get_executor(), Serve(std::move(pieces)));
    std::optional<Result<HttpResponse>> response;
    const auto url =
        ParseHttpUrl("http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + "/");
    Spawn(io_.get_executor(), [&]() -> asio::awaitable<void> {
      response.emplace(co_await client_->Send({.method = "GET", .url = *url}, PrivateHosts::kAllow,
                                              std::move(sink)));
    });
    while (!response) io_.run_one();
    return *std::move(response);
  }

  // Records the pieces and lets the server continue, until `last`.
  BodySink NoteUntil(std::string last) {
    return [this, last](const HttpResponse& head, std::string_view piece) {
      EXPECT_EQ(head.status, 200);
      taken_pieces_.emplace_back(piece);
      taken_.cancel();
      return piece == last ? Rest::kUnwanted : Rest::kWanted;
    };
  }

  asio::io_context io_;
  tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
  asio::steady_timer taken_{io_, asio::steady_timer::time_point::max()};
  std::vector<std::string> taken_pieces_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(BodySinkTest, EachPieceIsTakenWhenItArrives) {
  const auto response =
      Send({std::string(kHead), "3\r\none\r\n", "3\r\ntwo\r\n", "0\r\n\r\n"}, NoteUntil(""));
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_THAT(taken_pieces_, ElementsAre("one", "two"));
  EXPECT_EQ(response->body, "");
}

TEST_F(BodySinkTest, AConsumerCanStopBeforeTheEnd) {
  const auto response = Send({std::string(kHead), "3\r\none\r\n"}, NoteUntil("one"));
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->status, 200);
  EXPECT_THAT(taken_pieces_, ElementsAre("one"));
}

TEST_F(BodySinkTest, TakenPiecesCountTowardsTheLimit) {
  const std::string forty = "28\r\n" + std::string(40, 'x') + "\r\n";
  const auto response = Send({std::string(kHead), forty, forty, forty}, NoteUntil(""));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(taken_pieces_.size(), 2u);
}

}  // namespace
}  // namespace caisson
