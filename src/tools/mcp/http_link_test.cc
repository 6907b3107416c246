#include "tools/mcp/http_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/spawn.h"
#include "wire/object.h"

namespace caisson {
namespace {

using asio::ip::tcp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

// Asks a server that sends the same events to every client.
class HttpLinkTest : public ::testing::Test {
 protected:
  HttpLinkTest() {
    client_ = *HttpClient::Make({.resolver = {}});
    const auto port = std::to_string(acceptor_.local_endpoint().port());
    link_ =
        std::make_shared<HttpLink>(io_.get_executor(), client_,
                                   HttpLinkSpec{.url = *ParseHttpUrl("http://127.0.0.1:" + port)});
    Spawn(io_.get_executor(), Serve());
  }

  asio::awaitable<void> Serve() {
    for (;;) {
      auto [failed, socket] = co_await acceptor_.async_accept(kQuietly);
      if (failed) co_return;
      std::string request;
      co_await asio::async_read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n", kQuietly);
      heads_.push_back(request.substr(0, request.find("\r\n\r\n")));
      const std::string answer =
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + events_;
      co_await asio::async_write(socket, asio::buffer(answer), kQuietly);
    }
  }

  Result<Dict> Ask(std::string tool, OnProgress on_progress = {}) {
    std::optional<Result<Dict>> answer;
    Spawn(link_->executor(), [&]() -> asio::awaitable<void> {
      answer.emplace(co_await link_->Ask("tools/call", Object({{"name", tool}}), on_progress));
    });
    while (!answer) io_.run_one();
    return *std::move(answer);
  }

  asio::io_context io_;
  tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
  std::string events_ = R"(data: {"jsonrpc":"2.0","id":1,"result":{"a":1}})"
                        "\n\n";
  std::vector<std::string> heads_;
  std::shared_ptr<const HttpClient> client_;
  std::shared_ptr<HttpLink> link_;
};

TEST_F(HttpLinkTest, AnAnswerIsFoundAmongOtherMessages) {
  events_ = R"(data: {"jsonrpc":"2.0","id":2,"result":{"a":2}})"
            "\n\n"
            "data: nonsense\n\n" +
            events_;
  const auto answer = Ask("add");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, Object({{"a", 1}}));
}

TEST_F(HttpLinkTest, OnlyTheProgressOfThisCallCounts) {
  const auto progress = [](std::string token, int done) {
    return R"(data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" +
           token + R"(,"progress":)" + std::to_string(done) + "}}\n\n";
  };
  events_ = progress("1", 3) + progress("2", 4) + progress("\"1\"", 5) + events_;
  std::vector<double> told;
  ASSERT_TRUE(Ask("add", [&](const ToolProgress& each) { told.push_back(each.done); }));
  EXPECT_THAT(told, ElementsAre(3));
}

TEST_F(HttpLinkTest, ANameCannotInjectAHeader) {
  ASSERT_TRUE(Ask("a\r\nX-Evil: 1"));
  EXPECT_THAT(heads_.at(0), HasSubstr("\r\nMcp-Name: =?base64?YQ0KWC1FdmlsOiAx?="));
  EXPECT_THAT(heads_.at(0), Not(HasSubstr("X-Evil")));
}

TEST_F(HttpLinkTest, ANameThatLooksEncodedIsEncodedAgain) {
  ASSERT_TRUE(Ask("=?base64?YQ==?="));
  EXPECT_THAT(heads_.at(0), HasSubstr("\r\nMcp-Name: =?base64?PT9iYXNlNjQ/WVE9PT89?="));
}

}  // namespace
}  // namespace caisson
