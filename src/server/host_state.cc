#include "server/host_state.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "server/open_store.h"

namespace caisson {
namespace {

constexpr std::chrono::milliseconds kUsualPoll(250);

DeskOptions DeskOptionsOf(const ApprovalsConfig& approvals) {
  DeskOptions options;
  if (approvals.expire) {
    options.expire = std::chrono::ceil<std::chrono::seconds>(*approvals.expire);
  }
  if (approvals.max_pending) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    options.max_pending = static_cast<std::uint32_t>(std::min(*approvals.max_pending, kMost));
  }
  return options;
}

}  // namespace

HostState::HostState(std::unique_ptr<Store> store, KeyRing keys, const Config& config)
    : store_(std::move(store)),
      keys_(std::move(keys)),
      desk_(*store_, bell_, clock_, DeskOptionsOf(config.approvals)),
      poll_(
          std::chrono::ceil<std::chrono::milliseconds>(config.approvals.poll.value_or(kUsualPoll))),
      keep_(config.store.keep),
      hidden_(StoreFiles(config)) {}

DurableSettings HostState::durable() const {
  DurableSettings settings{.poll = poll_};
  if (keep_) settings.keep_finished = std::chrono::ceil<std::chrono::seconds>(*keep_);
  return settings;
}

Result<std::unique_ptr<HostState>> HostState::Open(const Config& config, const EnvironmentMap& host,
                                                   std::function<void(std::string_view)> log) {
  TRY_ASSIGN(auto store, OpenStore(config));
  TRY_ASSIGN(KeyRing keys, OpenKeys(config, host));
  std::unique_ptr<HostState> state(new HostState(std::move(store), std::move(keys), config));
  if (!config.audit.file.empty()) {
    const auto path = std::filesystem::path(config.directory) / config.audit.file;
    TRY_ASSIGN(state->audit_, AuditCopier::Start(*state->store_, {.path = path.string(),
                                                                  .interval = state->poll_,
                                                                  .log = std::move(log)}));
  }
  return state;
}

}  // namespace caisson
