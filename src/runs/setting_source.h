// A SettingSource says what code of a session runs with now: tools of other servers come and go, and one session may have
// others than the next.
//
// Trust     Ours.
// Threads   Any.
// Lifetime  What it asks outlives it.
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
  // The same pointer as long as nothing has changed; never null. A null session: nobody in particular.
  using Ask = std::function<std::shared_ptr<const CodeSetting>(const CallerContext* session)>;

  // Always the same for everybody.
  SettingSource(std::shared_ptr<const CodeSetting> fixed)  // NOLINT(google-explicit-constructor)
      : ask_([fixed = std::move(fixed)](const CallerContext*) { return fixed; }) {}
  // `changes` rings when it may be another for somebody; null: it never is.
  explicit SettingSource(Ask ask, Notifier<>* changes = nullptr)
      : ask_(std::move(ask)), changes_(changes) {}

  std::shared_ptr<const CodeSetting> For(const CallerContext* session) const {
    return ask_(session);
  }
  Notifier<>* changes() const { return changes_; }

 private:
  Ask ask_;
  Notifier<>* changes_ = nullptr;
};

}  // namespace caisson
