#include "server/host.h"

#include <utility>

namespace caisson {

Host::Host(std::unique_ptr<HostState> state, std::unique_ptr<CodeService> code,
           asio::any_io_executor executor)
    : state_(std::move(state)),
      code_(std::move(code)),
      runs_({.engine = code_->engine(),
             .runner = code_->runner(),
             .store = state_->store(),
             .desk = state_->desk(),
             .notifier = state_->notifier(),
             .keys = state_->keys(),
             .executor = std::move(executor),
             .setting = code_->settings(),
             .sessions = &code_->sessions(),
             .settings = state_->runs()}) {}

Result<std::unique_ptr<Host>> Host::Open(HostOptions options) {
  TRY_ASSIGN(auto state, HostState::Open(options.config, options.environment,
                                         std::move(options.on_audit_failure)));
  auto code = std::move(options.opened);
  if (code == nullptr) {
    options.code.hidden = state->hidden();
    TRY_ASSIGN(code, CodeService::Open(std::move(options.code)));
  }
  return std::unique_ptr<Host>(
      new Host(std::move(state), std::move(code), std::move(options.executor)));
}

}  // namespace caisson
