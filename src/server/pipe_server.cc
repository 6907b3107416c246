#include "server/pipe_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

#include "base/spawn.h"
#include "net/stdio/line_stream.h"
#include "server/host.h"
#include "server/mcp_server.h"
#include "server/store_sweeper.h"

namespace caisson {

// Members use those above them, so they are destroyed in reverse order.
class PipeServer::Parts {
 public:
  Result<void> Open(PipeServerOptions options) {
    log_ = options.code.log;
    TRY_ASSIGN(host_, Host::Open({.config = options.config,
                                  .code = std::move(options.code),
                                  .environment = options.environment,
                                  .executor = io_.get_executor(),
                                  .on_audit_failure = log_}));
    host_->state().store().health().Listen([log = log_](const std::optional<Error>& problem) {
      if (log) log(problem ? "the store fails: " + problem->message() : "the store works again");
    });
    CodeService& code = host_->code();
    mcp_.emplace(host_->runs(), host_->state().keys(),
                 McpOptions{.setting = code.settings(), .caller_host = &code.caller_host()});
    lines_.emplace(io_.get_executor(), LineStreamOptions{.input = std::move(options.input),
                                                         .output = std::move(options.output)});
    return {};
  }

  ~Parts() {
    if (host_ && !closed_) Run(host_->Close());
  }

  void Serve() {
    const StoreSweeper sweeper(host_->state().store(), clock_,
                               {.retention = host_->state().retention(), .log = log_});
    host_->runs().Tend();
    Run(ServeAndClose());
  }

  void Stop() {
    asio::post(io_, [this] { lines_->Close(); });
  }

 private:
  asio::awaitable<void> ServeAndClose() {
    co_await mcp_->ServeLines(*lines_);
    co_await host_->Close();
    closed_ = true;
  }

  void Run(asio::awaitable<void> work) {
    Spawn(io_.get_executor(), std::move(work));
    io_.restart();
    io_.run();
  }

  const SystemClock clock_{};
  std::function<void(std::string_view)> log_;
  asio::io_context io_{1};
  std::unique_ptr<Host> host_;
  std::optional<McpServer> mcp_;
  std::optional<LineStream> lines_;
  bool closed_ = false;
};

PipeServer::PipeServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PipeServer::~PipeServer() = default;

Result<std::unique_ptr<PipeServer>> PipeServer::Open(PipeServerOptions options) {
  auto parts = std::make_unique<Parts>();
  TRY(parts->Open(std::move(options)));
  return std::unique_ptr<PipeServer>(new PipeServer(std::move(parts)));
}

void PipeServer::Serve() {
  parts_->Serve();
}
void PipeServer::Stop() {
  parts_->Stop();
}

}  // namespace caisson
