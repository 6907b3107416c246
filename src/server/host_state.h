// HostState holds the durable state of a host, as configured: the store, its keys, the desk that
// asks for approvals and records decisions, and the copy of the audit log.
//
//   auto state = *HostState::Open(config, CaptureEnvironment());
//   JournaledRuns runs({.store = state->store(), .desk = state->desk(), ...});
//
// Trust     The operator's configuration.
// Threads   Open blocks. The parts can be used from any thread.
// Lifetime  Outlives all users of its parts. The store is destroyed last.
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
  // `log` is called when the audit file cannot be written later.
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
  // Files that no mount may show; see StoreFiles.
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
