#include "server/host_state.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "server/open_store.h"

namespace caisson {
namespace {

// The longest that a run in memory waits for all its answers together.
constexpr std::chrono::hours kPatience{24};

template <typename T>
void Take(T& setting, const std::optional<std::uint64_t>& given) {
  if (given) setting = static_cast<T>(*given);
}

template <typename T>
void Take(T& setting, const std::optional<std::chrono::nanoseconds>& given) {
  if (given) setting = std::chrono::ceil<T>(*given);
}

RunSettings RunSettingsOf(const Config& config) {
  RunSettings settings;
  Take(settings.lease, config.runs.lease);
  Take(settings.keep_parked, config.runs.park);
  Take(settings.max_parked, config.runs.max_parked);
  Take(settings.max_parked_bytes, config.runs.max_parked_bytes);
  Take(settings.waiting.runs, config.runs.max_waiting);
  Take(settings.waiting.saved_bytes, config.runs.max_waiting_bytes);
  Take(settings.waiting.runs_in_all, config.runs.max_waiting_in_all);
  Take(settings.waiting.saved_bytes_in_all, config.runs.max_waiting_bytes_in_all);
  Take(settings.max_queued, config.runs.max_queued);
  Take(settings.max_journal_bytes, config.runs.max_journal_bytes);
  Take(settings.max_stored_bytes, config.runs.max_stored_bytes);
  Take(settings.poll, config.approvals.poll);
  return settings;
}

Retention RetentionOf(const RetentionConfig& config) {
  Retention retention;
  Take(retention.finished_runs, config.runs);
  Take(retention.responses, config.responses);
  Take(retention.documents, config.sessions);
  Take(retention.checkpoints, config.checkpoints);
  return retention;
}

DeskOptions DeskOptionsOf(const ApprovalsConfig& approvals) {
  DeskOptions options;
  Take(options.expire, approvals.expire);
  if (approvals.max_pending) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    options.max_pending = static_cast<std::uint32_t>(std::min(*approvals.max_pending, kMost));
  }
  return options;
}

}  // namespace

HostState::HostState(std::unique_ptr<Store> store, KeyRing keys, const Config& config,
                     RunSettings runs)
    : store_(std::move(store)),
      keys_(std::move(keys)),
      desk_(*store_, notifier_, clock_, DeskOptionsOf(config.approvals)),
      runs_(std::move(runs)),
      retention_(RetentionOf(config.retention)),
      hidden_(StoreFiles(config)) {}

Result<std::unique_ptr<HostState>> HostState::OpenInMemory(const Config& config) {
  Config in_memory = config;
  in_memory.store = {.url = "memory:"};
  in_memory.approvals = {};
  in_memory.audit = {};
  RunSettings runs = RunSettingsOf(in_memory);
  runs.keep_parked = kPatience;
  runs.min_patience = kPatience;
  runs.keeps_ended = false;
  TRY_ASSIGN(auto store, OpenStore(in_memory));
  return std::unique_ptr<HostState>(
      new HostState(std::move(store), KeyRing::Generate(), in_memory, runs));
}

Result<std::unique_ptr<HostState>> HostState::Open(const Config& config, const EnvironmentMap& host,
                                                   std::function<void(std::string_view)> log) {
  TRY_ASSIGN(auto store, OpenStore(config));
  TRY_ASSIGN(KeyRing keys, OpenKeys(config, host));
  std::unique_ptr<HostState> state(
      new HostState(std::move(store), std::move(keys), config, RunSettingsOf(config)));
  if (!config.audit.file.empty()) {
    const auto path = std::filesystem::path(config.directory) / config.audit.file;
    TRY_ASSIGN(state->audit_, AuditCopier::Start(*state->store_, {.path = path.string(),
                                                                  .interval = state->runs_.poll,
                                                                  .log = std::move(log)}));
  }
  return state;
}

}  // namespace caisson
