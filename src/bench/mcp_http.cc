#include "bench/mcp_http.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "server/http_server.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::bench {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int kWarmUpCalls = 50;
constexpr std::string_view kBody =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"1+1"},"_meta":{)"
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})";

// A persistent connection.
class Client {
 public:
  Client(std::string authority, std::uint16_t port) {
    request_ =
        "POST /mcp HTTP/1.1\r\nHost: " + std::move(authority) +
        "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: execute_code\r\n"
        "Content-Length: " +
        std::to_string(kBody.size()) + "\r\n\r\n" + std::string(kBody);
    socket_.connect({asio::ip::address_v4::loopback(), port});
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }

  // Returns the body of the answer.
  Result<std::string> Call() {
    boost::system::error_code error;
    asio::write(socket_, asio::buffer(request_), error);
    std::string answer;
    std::array<char, 16384> buffer;
    while (!error) {
      answer.append(buffer.data(), socket_.read_some(asio::buffer(buffer), error));
      const std::size_t head = answer.find("\r\n\r\n");
      const std::size_t length = answer.find("Content-Length: ");
      if (head == answer.npos || length > head) continue;
      std::size_t size = 0;
      std::from_chars(answer.data() + length + 16, answer.data() + head, size);
      if (answer.size() >= head + 4 + size) return answer.substr(head + 4, size);
    }
    return Error(ErrorCode::kInternal, "the server closed the connection: " + error.message());
  }

 private:
  asio::io_context context_;
  asio::ip::tcp::socket socket_{context_};
  std::string request_;
};

// Returns the time of the run itself; fails if the answer is not the expected one.
Result<Microseconds> RunTime(const std::string& body) {
  TRY_ASSIGN(const Value answer, ParseJson(body));
  const auto* fields = answer.If<Dict>();
  const auto* result = fields == nullptr ? nullptr : FindAs<Dict>(*fields, "result");
  const auto* outcome = result == nullptr ? nullptr : FindAs<Dict>(*result, "structuredContent");
  const auto* value = outcome == nullptr ? nullptr : FindAs<std::int64_t>(*outcome, "result");
  const auto* usage = outcome == nullptr ? nullptr : FindAs<Dict>(*outcome, "usage");
  const auto* wall = usage == nullptr ? nullptr : FindAs<std::int64_t>(*usage, "wall_us");
  if (value == nullptr || *value != 2 || wall == nullptr) {
    return Error(ErrorCode::kInternal, "a wrong answer: " + body);
  }
  return Microseconds(static_cast<double>(*wall));
}

Result<Samples> Measure(const std::string& url, int calls) {
  const std::string authority = url.substr(url.rfind('/') + 1);
  std::uint16_t port = 0;
  const std::size_t colon = authority.rfind(':');
  std::from_chars(authority.data() + colon + 1, authority.data() + authority.size(), port);
  Client client(authority, port);
  Samples samples;
  for (int i = -kWarmUpCalls; i < calls; ++i) {
    const auto begin = Clock::now();
    TRY_ASSIGN(const std::string body, client.Call());
    const Microseconds took = Clock::now() - begin;
    TRY_ASSIGN(const Microseconds run, RunTime(body));
    if (i >= 0) samples.push_back((took - run).count());
  }
  return samples;
}

}  // namespace

Result<Samples> McpHttpOverhead(const std::string& tier, const std::string& installation,
                                int calls) {
  HttpServerOptions options;
  options.config.server.listen = "127.0.0.1:0";
  options.config.store.url = "memory:";
  options.config.engine.tier = tier;
  options.installation = installation;
  TRY_ASSIGN(const auto server, HttpServer::Open(std::move(options)));
  std::thread serving([&] { server->Serve(); });
  auto samples = Measure(server->url(), calls);
  server->Stop();
  serving.join();
  return samples;
}

}  // namespace caisson::bench
