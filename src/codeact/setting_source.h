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

#include "codeact/code_runner.h"
#include "context/session_context.h"

namespace caisson {

class SettingSource {
 public:
  // The same pointer as long as nothing has changed; never null. A null session: nobody in particular.
  using Ask = std::function<std::shared_ptr<const CodeSetting>(const SessionContext* session)>;

  // Always the same for everybody.
  SettingSource(std::shared_ptr<const CodeSetting> fixed)  // NOLINT(google-explicit-constructor)
      : ask_([fixed = std::move(fixed)](const SessionContext*) { return fixed; }) {}
  explicit SettingSource(Ask ask) : ask_(std::move(ask)) {}

  std::shared_ptr<const CodeSetting> For(const SessionContext* session) const {
    return ask_(session);
  }

 private:
  Ask ask_;
};

}  // namespace caisson
