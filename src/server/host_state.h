// HostState is all that a host remembers and what goes with it, as the configuration says: the store, its keys, the desk
// where approvals are asked for and decided, the copy of the audit log.
//
//   auto state = *HostState::Open(config, CaptureEnvironment());
//   JournaledRuns runs({.store = state->store(), .desk = state->desk(), .notifier = state->notifier(), .keys = state->keys(), ...});
//
// Trust     The operator's configuration.
// Threads   Open blocks. What it holds, from anywhere.
// Lifetime  Outlives whatever uses what it holds; the store goes last.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "approval/decision_notifier.h"
#include "approval/desk.h"
#include "approval/key_ring.h"
#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "runs/run_resources.h"
#include "server/audit_copier.h"
#include "store/store.h"

namespace caisson {

class HostState {
 public:
  // `log` hears what goes wrong with the audit file later on.
  static Result<std::unique_ptr<HostState>> Open(const Config& config, const EnvironmentMap& host,
                                                 std::function<void(std::string_view)> log = {});
  // Nothing outlives the process: a store in memory, without keys, audit file or expiry of what the
  // configuration names. Runs wait in memory, and what has ended is forgotten.
  static Result<std::unique_ptr<HostState>> OpenInMemory(const Config& config);
  HostState(const HostState&) = delete;
  HostState& operator=(const HostState&) = delete;

  Store& store() { return *store_; }
  const KeyRing& keys() const { return keys_; }
  DecisionNotifier& notifier() { return notifier_; }
  ApprovalDesk& desk() { return desk_; }
  bool keeps_runs() const { return runs_.keeps_ended; }
  // How runs wait, and how long what has ended is kept.
  const RunSettings& runs() const { return runs_; }
  const Retention& retention() const { return retention_; }
  // As StoreFiles: what no mount may show.
  const std::vector<std::string>& hidden() const { return hidden_; }

 private:
  HostState(std::unique_ptr<Store> store, KeyRing keys, const Config& config, RunSettings runs);

  const std::unique_ptr<Store> store_;
  const KeyRing keys_;
  SystemClock clock_;
  DecisionNotifier notifier_;
  ApprovalDesk desk_;
  const RunSettings runs_;
  const Retention retention_;
  const std::vector<std::string> hidden_;
  std::unique_ptr<AuditCopier> audit_;  // Null if no file is configured.
};

}  // namespace caisson
