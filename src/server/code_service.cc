#include "server/code_service.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/run_here.h"
#include "caller/child_environment.h"
#include "server/configured_tools.h"
#include "server/configured_upstreams.h"
#include "tools/mcp/upstream.h"

namespace caisson {
namespace {

std::string NameOf(EngineChoice choice) {
  switch (choice) {
    case EngineChoice::kWasm:
      return "wasm";
    case EngineChoice::kNative:
      return "native";
    case EngineChoice::kAuto:
      break;
  }
  return "auto";
}

// Returns a path of the configuration, relative to its directory. Empty stays empty.
std::string Located(const Config& config, const std::string& path) {
  if (path.empty()) return path;
  return std::filesystem::absolute(std::filesystem::path(config.directory) / path)
      .lexically_normal()
      .string();
}

}  // namespace

workspace::MountSpec ToMountSpec(const MountConfig& mount, const std::string& directory) {
  const std::filesystem::path host = std::filesystem::path(directory) / mount.host;
  return {.host = host.string(), .point = {.guest_path = mount.guest, .mode = mount.mode}};
}

CodeServiceOptions FromConfig(const Config& config) {
  CodeServiceOptions options;
  options.backend.engine = NameOf(config.engine.choice);
  options.backend.tier = config.engine.tier;
  options.backend.scratch = Located(config, config.engine.scratch);
  options.backend.native_packages = config.engine.native_packages;
  options.backend.one_owner_per_worker =
      config.engine.owners_per_worker == EngineConfig::OwnersPerWorker::kOne;
  if (!config.engine.prepare_cells) options.cells.most = 0;
  options.backend.python_prefix = Located(config, config.python.prefix);
  options.backend.kept_workers = Located(config, config.worker.keep);
  options.setting.limits = config.limits;
  options.setting.ceiling = config.max_limits;
  options.backend.ceiling = config.max_limits;
  // A single user may use all of it.
  if (config.identity.mode != IdentityMode::kLocal) options.backend.cells_per_owner = 0;
  if (config.runs.max_cells) options.backend.cells_per_owner = *config.runs.max_cells;
  options.setting.policy = config.policy;
  for (const MountConfig& mount : config.mounts) {
    options.setting.mounts.push_back(ToMountSpec(mount, config.directory));
  }
  options.tools = config.tools;
  options.upstreams = config.upstreams;
  // A single user has one session: the one that started this process.
  if (config.identity.mode == IdentityMode::kLocal) {
    for (UpstreamConfig& upstream : options.upstreams) upstream.shared = true;
  }
  options.tools_directory = config.directory;
  return options;
}

Result<std::unique_ptr<CodeService>> CodeService::Open(CodeServiceOptions options) {
  TRY(CheckLimits(options.setting.limits, options.setting.ceiling));
  // Made before the engine, while this process is small, because the starter is a copy of this
  // process.
  std::shared_ptr<jail::ProgramStarter> starter;
  if (!options.tools.empty()) {
    TRY_ASSIGN(starter, jail::ProgramStarter::Make(kPoolNice));
  }
  TRY_ASSIGN(auto engine, MakeEngine(options.backend));
  std::unique_ptr<CodeService> service(new CodeService(std::move(engine)));
  const asio::any_io_executor pool = service->pool_.executor();
  if (!options.tools.empty() || !options.upstreams.empty()) {
    Config config;
    config.tools = std::move(options.tools);
    config.upstreams = std::move(options.upstreams);
    config.directory = std::move(options.tools_directory);
    if (!options.log) options.log = [](std::string_view) {};
    const ToolResources resources{
        .io = pool,
        .pool = pool,
        .host = service->caller_host_,
        .log = std::move(options.log),
        .starter = std::move(starter),
        .on_change = [notifier = &service->tools_changed_] { notifier->Notify(); }};
    TRY_ASSIGN(const auto configured, MakeTools(config, resources));
    TRY_ASSIGN(service->upstreams_, OpenUpstreams(config, resources));
    auto tools = options.setting.tools->tools();
    tools.insert(tools.end(), configured.begin(), configured.end());
    options.setting.tools = std::make_shared<const ToolSet>(std::move(tools));
  }
  options.setting.packages = service->engine_->native_packages();
  service->setting_ = std::make_shared<const CodeSetting>(std::move(options.setting));
  service->runner_ = std::make_unique<CodeRunner>(
      *service->engine_, CodeRunnerOptions{.sessions = std::move(options.sessions),
                                           .cells = std::move(options.cells),
                                           .pool = pool,
                                           .cpu_pool = service->cpu_pool_.executor(),
                                           .hidden = std::move(options.hidden)});
  return service;
}

std::shared_ptr<const CodeSetting> CodeService::SettingFor(const CallerContext* caller) const {
  constexpr std::size_t kMaxSettings = 256;
  if (upstreams_.empty()) return setting_;
  SettingsByTools::key_type offered;
  for (const auto& upstream : upstreams_) offered.push_back(upstream->ToolsFor(caller));
  auto settings = settings_.Lock();
  if (const auto found = settings->find(offered); found != settings->end()) return found->second;
  auto tools = setting_->tools->tools();
  for (const auto& more : offered) tools.insert(tools.end(), more->begin(), more->end());
  CodeSetting setting = *setting_;
  setting.tools = std::make_shared<const ToolSet>(std::move(tools));
  if (settings->size() >= kMaxSettings) settings->clear();
  auto made = std::make_shared<const CodeSetting>(std::move(setting));
  settings->emplace(std::move(offered), made);
  return made;
}

CodeService::~CodeService() {
  if (runner_ != nullptr) RunHere(runner_->Close());
  for (const auto& upstream : upstreams_) upstream->Close();
  pool_.Join();
  cpu_pool_.Join();
}

}  // namespace caisson
