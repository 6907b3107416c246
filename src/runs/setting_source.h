// A SettingSource returns the current setting for a caller. Tools of upstreams can change, and can
// differ between callers.
//
// Trust     Ours.
// Threads   Any.
// Lifetime  The function that it calls outlives it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/notifier.h"
#include "caller/caller_context.h"
#include "runs/cells/code_runner.h"

namespace caisson {

class SettingSource {
 public:
  // Returns the same pointer until the setting changes; never null. A null caller means no caller.
  using Ask = std::function<std::shared_ptr<const CodeSetting>(const CallerContext* caller)>;

  // Returns the same setting for all callers.
  SettingSource(std::shared_ptr<const CodeSetting> fixed)  // NOLINT(google-explicit-constructor)
      : ask_([fixed = std::move(fixed)](const CallerContext*) { return fixed; }) {}
  // `changes` notifies when a setting may have changed; null: settings never change.
  explicit SettingSource(Ask ask, Notifier<>* changes = nullptr)
      : ask_(std::move(ask)), changes_(changes) {}

  std::shared_ptr<const CodeSetting> For(const CallerContext* caller) const { return ask_(caller); }
  Notifier<>* changes() const { return changes_; }

 private:
  Ask ask_;
  Notifier<>* changes_ = nullptr;
};

}  // namespace caisson
