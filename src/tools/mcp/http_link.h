// An HttpLink speaks MCP with a server over streamable HTTP: one POST for each message.
//
// Trust     As UpstreamLink. The URL is the operator's, who may point it at an inner host.
// Threads   As UpstreamLink.
// Lifetime  As UpstreamLink. The client outlives it.
#pragma once

#include <atomic>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "tools/http/client.h"
#include "tools/mcp/upstream_link.h"

namespace caisson {

struct HttpLinkSpec {
  HttpUrl url;
  std::string bearer{};
  // For any answer at all; a tool's own time is counted by whoever calls it.
  std::chrono::nanoseconds patience = std::chrono::minutes(1);
  OnListChanged on_list_changed{};  // If the server says so while it answers something else.
};

class HttpLink final : public UpstreamLink {
 public:
  HttpLink(const asio::any_io_executor& io, std::shared_ptr<const HttpClient> client,
           HttpLinkSpec spec)
      : executor_(asio::make_strand(io)), client_(std::move(client)), spec_(std::move(spec)) {}

  asio::any_io_executor executor() const override { return executor_; }
  asio::awaitable<Result<Dict>> Ask(std::string method, Dict params) override;
  asio::awaitable<void> Tell(std::string method, Dict params) override;
  void SetVersion(std::string version) override { version_ = std::move(version); }
  bool is_broken() const override { return broken_; }
  void Close() override { broken_ = true; }

 private:
  HttpRequest MakeRequest(const std::string& method, const Dict& params, std::string body) const;
  asio::awaitable<Result<HttpResponse>> Post(HttpRequest request) const;
  Result<Dict> ReadAnswer(const HttpResponse& response, const Value& id);

  const asio::any_io_executor executor_;
  const std::shared_ptr<const HttpClient> client_;  // Shared by the links of one configuration.
  const HttpLinkSpec spec_;
  std::string version_;
  std::string session_;  // The Mcp-Session-Id a legacy server gave.
  std::int64_t asked_ = 0;
  std::atomic<bool> broken_ = false;
};

}  // namespace caisson
