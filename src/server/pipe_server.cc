#include "server/pipe_server.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

#include "base/run_on.h"
#include "base/spawn.h"
#include "engine/door_lanes.h"
#include "engine/warmable.h"
#include "net/stdio/line_stream.h"
#include "server/host.h"
#include "server/mcp_server.h"
#include "server/store_sweeper.h"
#include "server/warm_packages.h"

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
    KeepWarm(std::move(options.warm_file));
    const auto lanes = DoorExecutors(code.engine());
    if (!lanes.empty()) door_ = lanes.front();
    lines_.emplace(door_, LineStreamOptions{.input = std::move(options.input),
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
    asio::post(door_, [this] { lines_->Close(); });
  }

 private:
  // The file is read by the caller, too, which chooses what is warm first.
  void KeepWarm(std::string file) {
    auto* const engine = dynamic_cast<Warmable*>(&host_->code().engine());
    if (engine == nullptr || file.empty()) return;
    auto packages = std::make_shared<WarmPackages>(std::move(file));  // Owned by the engine.
    if (!packages->latest().empty()) engine->Warm();
    engine->ListenForPackages([packages](const auto& modules) { packages->Note(modules); });
  }

  asio::awaitable<void> ServeAndClose() {
    co_await RunOn(door_, mcp_->ServeLines(*lines_));
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
  asio::any_io_executor door_ = io_.get_executor();  // Where the client's messages are handled.
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
