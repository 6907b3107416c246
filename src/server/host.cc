#include "server/host.h"

#include <set>
#include <utility>

#include "base/run_here.h"
#include "identity/local_resolver.h"
#include "server/agent_settings.h"
#include "server/configured_agents.h"
#include "server/single_run.h"

namespace caisson {

namespace {

// The settings of all agents, under which their runs are continued by any process.
std::map<std::string, SettingSource> SettingsOf(
    const CodeService& code, const std::vector<std::shared_ptr<const Agent>>& agents) {
  std::map<std::string, SettingSource> settings = code.named_settings();
  for (const auto& agent : agents) {
    settings.emplace(AgentSettingName(agent->name), agent->setting);
  }
  return settings;
}

Result<void> CheckNames(const std::vector<std::shared_ptr<const Agent>>& agents) {
  std::set<std::string> names;
  for (const auto& agent : agents) {
    if (names.insert(agent->name).second) continue;
    return Error(ErrorCode::kInvalidArgument,
                 "two agents have the name \"" + agent->name + "\"; rename one of them");
  }
  return {};
}

// Turns and runs of a replica are taken over together.
TurnSettings TurnSettingsOf(const RunSettings& runs) {
  TurnSettings settings;
  settings.lease = runs.lease;
  settings.poll = runs.poll;
  return settings;
}

}  // namespace

Host::Host(std::unique_ptr<BackgroundLoop> loop, std::unique_ptr<HostState> state,
           std::unique_ptr<CodeService> code, Agents agents, asio::any_io_executor executor)
    : loop_(std::move(loop)),
      state_(std::move(state)),
      code_(std::move(code)),
      runs_({.engine = code_->engine(),
             .runner = code_->runner(),
             .store = state_->store(),
             .desk = state_->desk(),
             .notifier = state_->notifier(),
             .keys = state_->keys(),
             .executor = executor,
             .setting = code_->settings(),
             .named_settings = SettingsOf(*code_, agents),
             .caller_host = &code_->caller_host(),
             .settings = state_->runs()}),
      turns_({.agents = std::move(agents),
              .runs = runs_,
              .store = state_->store(),
              .executor = std::move(executor),
              .caller_host = &code_->caller_host(),
              .settings = TurnSettingsOf(state_->runs())}) {}

Host::~Host() {
  if (loop_ != nullptr) RunHere(Close());
}

void Host::Tend() {
  runs_.Tend();
  turns_.Tend();
}

asio::awaitable<void> Host::Close() {
  co_await turns_.Close();
  co_await runs_.Close();
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
  Agents agents = std::move(options.agents);
  if (options.serves == HostOptions::Serves::kRunsAndAgents) {
    TRY_ASSIGN(auto configured, MakeAgents(options.config, {.pool = code->pool(),
                                                            .environment = options.environment,
                                                            .settings = code->named_settings()}));
    agents.insert(agents.begin(), configured.begin(), configured.end());
  }
  TRY(CheckNames(agents));
  std::unique_ptr<BackgroundLoop> loop;
  if (!options.executor) {
    loop = std::make_unique<BackgroundLoop>();
    options.executor = loop->executor();
  }
  return std::unique_ptr<Host>(new Host(std::move(loop), std::move(state), std::move(code),
                                        std::move(agents), *std::move(options.executor)));
}

Result<CodeRun> Host::Run(std::string code) {
  TRY_ASSIGN(RunView view, SingleRun(runs_, IsolationKey(LocalIdentity()))
                               .Perform({.code = std::move(code), .approvals = Approvals::kNone},
                                        [](OutputStream, std::string_view) {}));
  return CodeRun{.outcome = std::move(view.outcome), .session = view.session};
}

}  // namespace caisson
