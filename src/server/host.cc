#include "server/host.h"

#include <utility>

#include "base/run_here.h"
#include "identity/local_resolver.h"
#include "server/single_run.h"

namespace caisson {

Host::Host(std::unique_ptr<BackgroundLoop> loop, std::unique_ptr<HostState> state,
           std::unique_ptr<CodeService> code, asio::any_io_executor executor)
    : loop_(std::move(loop)),
      state_(std::move(state)),
      code_(std::move(code)),
      runs_({.engine = code_->engine(),
             .runner = code_->runner(),
             .store = state_->store(),
             .desk = state_->desk(),
             .notifier = state_->notifier(),
             .keys = state_->keys(),
             .executor = std::move(executor),
             .setting = code_->settings(),
             .named_settings = code_->named_settings(),
             .caller_host = &code_->caller_host(),
             .settings = state_->runs()}) {}

Host::~Host() {
  if (loop_ != nullptr) RunHere(runs_.Close());
}

Result<std::unique_ptr<Host>> Host::Open(HostOptions options) {
  using Keeps = HostOptions::Keeps;
  const auto open_state = [&] {
    return options.keeps == Keeps::kNothing ? HostState::OpenInMemory(options.config)
                                            : HostState::Open(options.config, options.environment,
                                                              std::move(options.on_audit_failure));
  };
  std::unique_ptr<HostState> state;
  if (options.keeps == Keeps::kAll) {
    TRY_ASSIGN(state, open_state());
    options.code.hidden = state->hidden();
  }
  TRY_ASSIGN(auto code, CodeService::Open(std::move(options.code)));
  if (options.keeps == Keeps::kRunsThatMayAsk && !MayAsk(*code->setting()->tools)) {
    options.keeps = Keeps::kNothing;
  }
  if (state == nullptr) {
    TRY_ASSIGN(state, open_state());
  }
  std::unique_ptr<BackgroundLoop> loop;
  if (!options.executor) {
    loop = std::make_unique<BackgroundLoop>();
    options.executor = loop->executor();
  }
  return std::unique_ptr<Host>(
      new Host(std::move(loop), std::move(state), std::move(code), *std::move(options.executor)));
}

Result<CodeRun> Host::Run(std::string code) {
  TRY_ASSIGN(RunView view, SingleRun(runs_, IsolationKey(LocalIdentity()))
                               .Perform({.code = std::move(code), .approvals = Approvals::kNone},
                                        [](OutputStream, std::string_view) {}));
  return CodeRun{.outcome = std::move(view.outcome), .session = view.session};
}

}  // namespace caisson
