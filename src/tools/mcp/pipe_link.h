// A PipeLink starts a program and speaks MCP with it over its stdin and stdout.
//
// Trust     Same as UpstreamLink. Requests of the server are refused, except ping. Its stderr is
//           logged, up to a length.
// Threads   Same as UpstreamLink.
// Lifetime  Same as UpstreamLink. The program and all its processes end with the link
//           (jail/program.h).
#pragma once

#include <atomic>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caller/child_environment.h"
#include "jail/program.h"
#include "jsonrpc/message.h"
#include "jsonrpc/questions.h"
#include "net/stdio/line_stream.h"
#include "tools/mcp/upstream_link.h"

namespace caisson {

struct PipeLinkSpec {
  std::vector<std::string> argv;
  std::string directory{};
  ChildEnvironment environment{};
  std::size_t max_message_bytes = 8u << 20;
  OnListChanged on_list_changed{};
  std::function<void(std::string_view text)> log{};
};

class PipeLink final : public UpstreamLink, public std::enable_shared_from_this<PipeLink> {
 public:
  static Result<std::shared_ptr<PipeLink>> Start(const asio::any_io_executor& io,
                                                 PipeLinkSpec spec);

  asio::any_io_executor executor() const override { return executor_; }
  asio::awaitable<Result<Dict>> Ask(std::string method, Dict params,
                                    OnProgress on_progress) override;
  asio::awaitable<void> Tell(std::string method, Dict params) override;
  void SetVersion(std::string) override {}
  bool is_broken() const override { return broken_; }
  void Close() override;

 private:
  PipeLink(asio::any_io_executor executor, jail::Program program, PipeLinkSpec spec);

  static asio::awaitable<void> Listen(std::shared_ptr<PipeLink> self);
  static asio::awaitable<void> ReadLog(std::shared_ptr<PipeLink> self);
  void Take(jsonrpc::Message message);
  void TakeNotice(const jsonrpc::Notification& notification);

  const asio::any_io_executor executor_;
  const PipeLinkSpec spec_;
  jail::Program program_;
  LineStream lines_;
  asio::posix::stream_descriptor log_;
  jsonrpc::Questions questions_;
  std::map<std::string, OnProgress> listeners_;  // The listeners of questions, by id.
  std::atomic<bool> broken_ = false;
};

}  // namespace caisson
