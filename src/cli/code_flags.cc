#include "cli/code_flags.h"

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "caller/caller_context.h"
#include "cli/output.h"
#include "cli/source_input.h"
#include "policy/toml.h"
#include "server/open_store.h"
#include "workspace/mount.h"

namespace caisson::cli {
namespace {

constexpr std::size_t kMaxPolicyBytes = 1u << 20;

Result<Policy> ParsePolicyFlag(const std::string& value) {
  if (value == "strict") return Policy{};
  if (value == "open") return Policy{.preset = PolicyPreset::kOpen};
  auto text = ReadSource(value, kMaxPolicyBytes);
  if (!text) {
    return std::move(text).error().Context("--policy takes strict, open or a file");
  }
  auto policy = ParsePolicyText(*text);
  if (!policy) return std::move(policy).error().Context("--policy " + value);
  return policy;
}

// Parses "NAME=VALUE", the value of `option`.
Result<std::pair<std::string, std::string>> ParsePair(std::string_view option,
                                                      const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Error(ErrorCode::kInvalidArgument,
                 std::string(option) + " takes NAME=VALUE; got \"" + text + "\"");
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<void> SetLimits(const CodeFlags& flags, Limits& limits) {
  for (const std::string& limit : flags.limits) {
    TRY_ASSIGN(const auto pair, ParsePair("--limit", limit));
    TRY(SetLimit(limits, pair.first, pair.second));
  }
  return {};
}

Result<void> AddMounts(const CodeFlags& flags, std::vector<workspace::MountSpec>& mounts) {
  for (const std::string& text : flags.mounts) {
    TRY_ASSIGN(workspace::MountSpec mount, workspace::ParseMount(text));
    mounts.push_back(std::move(mount));
  }
  return {};
}

Result<void> SetEnvironment(const CodeFlags& flags, CodeSetting& setting) {
  std::map<std::string, std::string> environment;
  for (const std::string& text : flags.environment) {
    TRY_ASSIGN(auto pair, ParsePair("--env", text));
    environment[std::move(pair.first)] = std::move(pair.second);
  }
  setting.environment =
      std::make_shared<const std::map<std::string, std::string>>(std::move(environment));
  return {};
}

}  // namespace

void AddCodeFlags(Command command, CodeFlags& flags) {
  command.AddOption("--config", flags.config, "A configuration file: tools, mounts, policy, limits",
                    {.value = "FILE"});
  command.AddOption("--policy", flags.policy,
                    "The rules for code: strict (the default), open, or a file", {.value = "NAME"});
  command.AddOption("--limit", flags.limits, "Set a limit of the run; can be repeated",
                    {.value = "NAME=VALUE"});
  command.AddOption("--mount", flags.mounts,
                    "Mount a directory: ro (the default), rw or overlay; can be repeated",
                    {.value = "HOST:GUEST[:MODE]"});
  command.AddOption("--env", flags.environment, "Set a variable in os.environ; can be repeated",
                    {.value = "NAME=VALUE"});
  command.AddOption("--engine", flags.engine, "The engine: auto (the default), wasm or native",
                    {.value = "NAME"});
  AddTierFlag(command, flags.tier);
  command.AddOption("--worker-dir", flags.worker_directory, "For tests", {.hidden = true});
}

void AddTierFlag(Command command, std::string& tier) {
  command.AddOption("--tier", tier,
                    "The jail around the code: namespace (the default), landlock or none",
                    {.value = "NAME"});
}

void AddApproveFlag(Command command, CodeFlags& flags) {
  command.AddOption("--approve", flags.approve,
                    "Approve calls that need it: ask at the terminal, all, or none",
                    {.value = "WHICH", .show_default = true});
}

Result<CodeServiceOptions> ToServiceOptions(const CodeFlags& flags) {
  Config config;
  if (!flags.config.empty()) {
    TRY_ASSIGN(config, LoadConfig(flags.config));
  }
  return ToServiceOptions(flags, config);
}

Result<CodeServiceOptions> ToServiceOptions(const CodeFlags& flags, const Config& config) {
  CodeServiceOptions options = FromConfig(config);
  options.hidden = StoreFiles(config);
  options.backend.lanes = 1;
  options.backend.pin = false;
  options.backend.spare_cells = 0;
  options.backend.preloads = {{}};
  if (!flags.tier.empty()) options.backend.tier = flags.tier;
  options.backend.installation = flags.worker_directory;
  if (!flags.engine.empty()) options.backend.engine = flags.engine;
  if (!flags.policy.empty()) {
    TRY_ASSIGN(options.setting.policy, ParsePolicyFlag(flags.policy));
  }
  // Called on another thread than the rest of our output, so it needs its own Output.
  options.log = [](std::string_view text) { Output::Stderr().WriteGuest(text); };
  TRY(SetLimits(flags, options.setting.limits));
  TRY(CheckLimits(options.setting.limits, options.setting.ceiling));
  TRY(AddMounts(flags, options.setting.mounts));
  TRY(SetEnvironment(flags, options.setting));
  return options;
}

Result<Approvals> ToApprovals(const CodeFlags& flags) {
  if (flags.approve == "ask") return Approvals::kAsk;
  if (flags.approve == "all") return Approvals::kAll;
  if (flags.approve == "none") return Approvals::kNone;
  return Error(ErrorCode::kInvalidArgument,
               "--approve takes ask, all or none; got \"" + flags.approve + "\"");
}

Result<std::unique_ptr<Host>> OpenHost(const CodeFlags& flags, CodeServiceOptions options,
                                       HostOptions::Keeps keeps) {
  Config config;
  if (!flags.config.empty()) {
    TRY_ASSIGN(config, LoadConfig(flags.config));
  }
  const bool has_store = config.store.is_configured && config.store.url != "memory:";
  if (!has_store) keeps = HostOptions::Keeps::kNothing;
  return Host::Open({.config = std::move(config),
                     .code = std::move(options),
                     .environment = CaptureEnvironment(),
                     .keeps = keeps});
}

}  // namespace caisson::cli
