// An HttpLink speaks MCP with a server over streamable HTTP: one POST for each message. What a server says before it
// answers is heard as it comes.
//
// Trust     As UpstreamLink. The URL is the operator's, who may point it at an inner host.
// Threads   As UpstreamLink.
// Lifetime  As UpstreamLink. What is said without waiting for an answer keeps the link until it is said.
#pragma once

#include <atomic>
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
  // For any answer but that of a tool, whose time is counted by whoever calls it.
  std::chrono::nanoseconds patience = std::chrono::minutes(1);
  OnListChanged on_list_changed{};  // If the server says so while it answers something else.
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
  std::string session_;  // The Mcp-Session-Id a legacy server gave.
  std::int64_t asked_ = 0;
  std::size_t whispers_ = 0;                 // Under way.
  std::set<asio::steady_timer*> deadlines_;  // Of the requests under way; cancelled, they end.
  std::atomic<bool> broken_ = false;
};

}  // namespace caisson
