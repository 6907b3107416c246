#include "server/pipe_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

#include "base/spawn.h"
#include "net/stdio/line_stream.h"
#include "runs/journaled_runs.h"
#include "server/host_state.h"
#include "server/mcp_server.h"
#include "server/store_sweeper.h"

namespace caisson {

// In the order they need each other: what is below is gone before what is above.
class PipeServer::Parts {
 public:
  Result<void> Open(PipeServerOptions options) {
    log_ = options.code.log;
    TRY_ASSIGN(state_, HostState::Open(options.config, options.environment, log_));
    state_->store().health().Listen([log = log_](const std::optional<Error>& problem) {
      if (log) log(problem ? "the store fails: " + problem->message() : "the store works again");
    });
    options.code.hidden = state_->hidden();
    TRY_ASSIGN(code_, CodeService::Open(std::move(options.code)));
    runs_.emplace(JournaledRunsOptions{.engine = code_->engine(),
                                       .runner = code_->runner(),
                                       .store = state_->store(),
                                       .desk = state_->desk(),
                                       .notifier = state_->notifier(),
                                       .keys = state_->keys(),
                                       .executor = io_.get_executor(),
                                       .setting = code_->settings(),
                                       .sessions = &code_->sessions(),
                                       .settings = state_->runs()});
    mcp_.emplace(*runs_, state_->keys(),
                 McpOptions{.setting = code_->settings(), .sessions = &code_->sessions()});
    lines_.emplace(io_.get_executor(), LineStreamOptions{.input = std::move(options.input),
                                                         .output = std::move(options.output)});
    return {};
  }

  ~Parts() {
    if (runs_ && !closed_) Run(runs_->Close());
  }

  void Serve() {
    const StoreSweeper sweeper(state_->store(), clock_,
                               {.retention = state_->retention(), .log = log_});
    runs_->Tend();
    Run(ServeAndClose());
  }

  void Stop() {
    asio::post(io_, [this] { lines_->Close(); });
  }

 private:
  asio::awaitable<void> ServeAndClose() {
    co_await mcp_->ServeLines(*lines_);
    co_await runs_->Close();
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
  std::unique_ptr<HostState> state_;
  std::unique_ptr<CodeService> code_;
  std::optional<JournaledRuns> runs_;
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
