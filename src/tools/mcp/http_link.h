// An HttpLink speaks MCP with a server over streamable HTTP: one POST per message. Messages that
// precede an answer are processed as they arrive.
//
// Trust     Same as UpstreamLink. The URL is the operator's, who may point it at an internal host.
// Threads   Same as UpstreamLink.
// Lifetime  Same as UpstreamLink. Messages that need no answer keep the link alive until they are
//           sent.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "jsonrpc/message.h"
#include "tools/http/client.h"
#include "tools/mcp/upstream_link.h"

namespace caisson {

struct HttpLinkSpec {
  HttpUrl url;
  std::string bearer{};
  // For any answer except that of a tool, which has the caller's timeout.
  std::chrono::nanoseconds patience = std::chrono::minutes(1);
  OnListChanged on_list_changed{};  // If the server reports it while it answers another request.
};

class HttpLink final : public UpstreamLink, public std::enable_shared_from_this<HttpLink> {
 public:
  HttpLink(const asio::any_io_executor& io, std::shared_ptr<const HttpClient> client,
           HttpLinkSpec spec)
      : executor_(asio::make_strand(io)), client_(std::move(client)), spec_(std::move(spec)) {}

  asio::any_io_executor executor() const override { return executor_; }
  asio::awaitable<Result<Dict>> Ask(std::string method, Dict params,
                                    OnProgress on_progress) override;
  asio::awaitable<void> Tell(std::string method, Dict params) override;
  void SetVersion(std::string version) override { version_ = std::move(version); }
  bool is_broken() const override { return broken_; }
  void Close() override;

 private:
  class Incoming;

  HttpRequest MakeRequest(std::string_view method, const Dict& params, std::string body) const;
  using Time = std::chrono::steady_clock::time_point;
  asio::awaitable<Result<HttpResponse>> Post(HttpRequest request, Time until, BodySink sink = {});
  void Whisper(std::string_view method, std::string body);
  Result<Dict> Conclude(const HttpResponse& head, Incoming& incoming);

  const asio::any_io_executor executor_;
  const std::shared_ptr<const HttpClient> client_;  // Shared by the links of one configuration.
  const HttpLinkSpec spec_;
  std::string version_;
  std::string session_;  // The Mcp-Session-Id of a legacy server.
  std::int64_t asked_ = 0;
  std::size_t whispers_ = 0;  // Messages without answer that are being sent.
  // Timers of current requests. Cancelling them ends the requests.
  std::set<asio::steady_timer*> deadlines_;
  std::atomic<bool> broken_ = false;
};

}  // namespace caisson
