#include "agent/provider.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace caisson {
namespace {

using Tools = std::vector<std::shared_ptr<const Tool>>;
using Mounts = std::vector<workspace::MountSpec>;

const std::string& GuestPath(const workspace::MountSpec& mount) {
  return mount.point.guest_path;
}

std::shared_ptr<const CodeSetting> WithTools(const CodeSetting& setting, Tools tools) {
  auto changed = std::make_shared<CodeSetting>(setting);
  changed->tools = std::make_shared<const ToolSet>(std::move(tools));
  return changed;
}

void Put(Dict& dict, std::string key, Value value) {
  dict.items.emplace_back(std::move(key), std::move(value));
}

Value Count(std::uint64_t n) {
  return static_cast<std::int64_t>(n);
}

Value LimitsState(const Limits& limits) {
  const auto seconds = [](std::chrono::nanoseconds time) -> Value {
    return std::chrono::duration<double>(time).count();
  };
  Dict state;
  Put(state, "wall_seconds", seconds(limits.wall_time));
  Put(state, "cpu_seconds", seconds(limits.cpu_time));
  Put(state, "memory_bytes", Count(limits.memory_bytes));
  Put(state, "processes", Count(limits.processes));
  Put(state, "open_files", Count(limits.open_files));
  Put(state, "code_bytes", Count(limits.code_bytes));
  Put(state, "stdout_bytes", Count(limits.stdout_bytes));
  Put(state, "stderr_bytes", Count(limits.stderr_bytes));
  Put(state, "result_bytes", Count(limits.result_bytes));
  Put(state, "file_bytes", Count(limits.file_bytes));
  Put(state, "total_file_bytes", Count(limits.total_file_bytes));
  Put(state, "files", Count(limits.files));
  Put(state, "tool_calls", Count(limits.tool_calls));
  return state;
}

template <typename Range, typename Name>
Value NamesOf(const Range& range, Name name) {
  List names;
  for (const auto& item : range) names.items.emplace_back(std::string(name(item)));
  return names;
}

}  // namespace

std::string_view ToString(ApprovalMode mode) {
  return mode == ApprovalMode::kAlwaysRequire ? "always_require" : "never_require";
}

CodeActProvider::CodeActProvider(CodeRunner& runner, ProviderOptions options)
    : runner_(runner),
      base_approval_(options.approval),
      gating_(options.gating),
      sessions_(options.sessions),
      trace_(std::move(options.trace)),
      state_(State{std::make_shared<const CodeSetting>(std::move(options.setting))}) {}

Result<void> CodeActProvider::AddTool(std::shared_ptr<const Tool> tool) {
  if (tool->name() == kExecuteCode) {
    return Error(ErrorCode::kInvalidArgument,
                 "execute_code cannot be a tool of its own code; give this tool another name");
  }
  auto state = state_.Lock();
  Tools tools = state->setting->tools->tools();
  std::erase_if(tools, [&](const auto& other) { return other->name() == tool->name(); });
  tools.push_back(std::move(tool));
  state->setting = WithTools(*state->setting, std::move(tools));
  return {};
}

Tools CodeActProvider::GetTools() const {
  return setting()->tools->tools();
}

Result<void> CodeActProvider::RemoveTool(std::string_view name) {
  auto state = state_.Lock();
  Tools tools = state->setting->tools->tools();
  if (std::erase_if(tools, [&](const auto& tool) { return tool->name() == name; }) == 0) {
    return state->setting->tools->NoSuchTool(name);
  }
  state->setting = WithTools(*state->setting, std::move(tools));
  return {};
}

void CodeActProvider::ClearTools() {
  auto state = state_.Lock();
  state->setting = WithTools(*state->setting, {});
}

Result<void> CodeActProvider::AddMount(workspace::MountSpec mount) {
  auto state = state_.Lock();
  auto changed = std::make_shared<CodeSetting>(*state->setting);
  const auto place = std::ranges::find(changed->mounts, mount.point.guest_path, GuestPath);
  if (place == changed->mounts.end()) {
    changed->mounts.push_back(std::move(mount));
  } else {
    *place = std::move(mount);
  }
  TRY(workspace::OpenMounts(changed->mounts, {}));
  state->setting = std::move(changed);
  return {};
}

Mounts CodeActProvider::GetMounts() const {
  return setting()->mounts;
}

Result<void> CodeActProvider::RemoveMount(std::string_view guest_path) {
  auto state = state_.Lock();
  auto changed = std::make_shared<CodeSetting>(*state->setting);
  const auto is_it = [&](const auto& mount) { return mount.point.guest_path == guest_path; };
  if (std::erase_if(changed->mounts, is_it) == 0) {
    return Error(ErrorCode::kNotFound, "nothing is mounted at " + std::string(guest_path));
  }
  state->setting = std::move(changed);
  return {};
}

void CodeActProvider::ClearMounts() {
  auto state = state_.Lock();
  auto changed = std::make_shared<CodeSetting>(*state->setting);
  changed->mounts.clear();
  state->setting = std::move(changed);
}

ApprovalMode CodeActProvider::ModeOf(const CodeSetting& setting) const {
  const bool gated =
      gating_ == Gating::kBundled && std::ranges::any_of(setting.tools->tools(), [](const auto& t) {
        return t->definition().approval.mode() != Approval::Mode::kNever;
      });
  return gated ? ApprovalMode::kAlwaysRequire : base_approval_;
}

ApprovalMode CodeActProvider::approval_mode() const {
  return ModeOf(*setting());
}

std::string CodeActProvider::Description() const {
  return caisson::Description(*setting());
}

std::string CodeActProvider::BuildInstructions(ToolsVisible visible) const {
  return Instructions(*setting(), visible);
}

Value CodeActProvider::StateOf(const CodeSetting& setting) const {
  Dict state;
  Put(state, "runtime", std::string("caisson"));
  Put(state, "approval_mode", std::string(ToString(ModeOf(setting))));
  Put(state, "gating", std::string(gating_ == Gating::kBundled ? "bundled" : "per_call"));
  Put(state, "tool_names",
      NamesOf(setting.tools->tools(), [](const auto& tool) { return tool->name(); }));
  Put(state, "input_files", NamesOf(setting.files, [](const auto& file) { return file.path; }));
  Put(state, "mounts", NamesOf(setting.mounts, GuestPath));
  Put(state, "policy",
      std::string(setting.policy.preset == PolicyPreset::kOpen ? "open" : "strict"));
  Put(state, "limits", LimitsState(setting.limits));
  Put(state, "env_keys",
      NamesOf(*setting.environment, [](const auto& variable) { return variable.first; }));
  return state;
}

Value CodeActProvider::SerializableState() const {
  return StateOf(*setting());
}

Result<CodeActScope> CodeActProvider::BeginRun(OwnerId owner) const {
  const std::shared_ptr<const CodeSetting> now = setting();
  const bool gated = ModeOf(*now) == ApprovalMode::kAlwaysRequire;
  TRY_ASSIGN(auto tool, MakeExecuteCodeTool(
                            runner_, {.owner = std::move(owner),
                                      .setting = now,
                                      .description = caisson::Description(*now),
                                      .approval = gated ? Approval::Always() : Approval::Never(),
                                      .consent = gating_ == Gating::kBundled ? Consent::kGiven
                                                                             : Consent::kNone,
                                      .sessions = sessions_,
                                      .trace = trace_}));
  return CodeActScope{.tool = std::move(tool),
                      .instructions = Instructions(*now, ToolsVisible::kNo),
                      .state = StateOf(*now)};
}

}  // namespace caisson
