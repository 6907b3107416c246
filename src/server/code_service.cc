#include "server/code_service.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/run_here.h"
#include "caller/child_environment.h"
#include "server/agent_settings.h"
#include "server/configured_tools.h"
#include "server/configured_upstreams.h"

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
  options.agents = config.agents;
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
  TRY(service->MakeSettings(options, std::move(starter)));
  service->runner_ = std::make_unique<CodeRunner>(
      *service->engine_, CodeRunnerOptions{.sessions = std::move(options.sessions),
                                           .cells = std::move(options.cells),
                                           .pool = service->pool_.executor(),
                                           .cpu_pool = service->cpu_pool_.executor(),
                                           .hidden = std::move(options.hidden)});
  return service;
}

Result<void> CodeService::MakeSettings(CodeServiceOptions& options,
                                       std::shared_ptr<jail::ProgramStarter> starter) {
  std::vector<std::shared_ptr<Upstream>> upstreams;
  if (!options.tools.empty() || !options.upstreams.empty()) {
    Config config;
    config.tools = std::move(options.tools);
    config.upstreams = std::move(options.upstreams);
    config.directory = options.tools_directory;
    if (!options.log) options.log = [](std::string_view) {};
    const asio::any_io_executor pool = pool_.executor();
    const ToolResources resources{
        .io = pool,
        .pool = pool,
        .host = caller_host_,
        .log = std::move(options.log),
        .starter = std::move(starter),
        .on_change = [notifier = &tools_changed_] { notifier->Notify(); }};
    TRY_ASSIGN(const auto configured, MakeTools(config, resources));
    TRY_ASSIGN(upstreams, OpenUpstreams(config, resources));
    for (std::size_t i = 0; i < upstreams.size(); ++i) {
      upstreams_.emplace(config.upstreams[i].name, upstreams[i]);
    }
    auto tools = options.setting.tools->tools();
    tools.insert(tools.end(), configured.begin(), configured.end());
    options.setting.tools = std::make_shared<const ToolSet>(std::move(tools));
  }
  options.setting.packages = engine_->native_packages();
  TRY_ASSIGN(agent_settings_,
             MakeAgentSettings(options.agents, {.setting = options.setting,
                                                .upstreams = upstreams_,
                                                .directory = options.tools_directory}));
  setting_ = std::make_shared<const OfferedSetting>(std::move(options.setting), upstreams);
  return {};
}

SettingSource CodeService::SourceOf(const OfferedSetting& setting) const {
  return SettingSource([&setting](const CallerContext* caller) { return setting.For(caller); },
                       upstreams_.empty() ? nullptr : &tools_changed_);
}

std::map<std::string, SettingSource> CodeService::named_settings() const {
  std::map<std::string, SettingSource> sources;
  for (const auto& [name, setting] : agent_settings_) sources.emplace(name, SourceOf(*setting));
  return sources;
}

CodeService::~CodeService() {
  if (runner_ != nullptr) RunHere(runner_->Close());
  for (const auto& [name, upstream] : upstreams_) upstream->Close();
  pool_.Join();
  cpu_pool_.Join();
}

}  // namespace caisson
