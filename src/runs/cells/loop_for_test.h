// Tools and scripts of the tests in this folder.
//
// Trust     For tests.
// Threads   One.
// Lifetime  The loop outlives what runs in it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/testing/test_loop.h"
#include "engine/fake/fake_engine.h"
#include "runs/cells/code_runner.h"
#include "tools/tool.h"

namespace caisson {

inline std::shared_ptr<const Tool> TestTool(std::string name, Approval approval = {},
                                            ToolBody body = Inline([](const Dict&) {
                                              return Value(std::string("done"));
                                            })) {
  return *Tool::Make({.name = std::move(name), .approval = std::move(approval)}, std::move(body));
}

inline FakeScript Completes(std::string text = {}) {
  return {.steps = {FakeOutput{.text = std::move(text)}},
          .outcome = {.status = RunStatus::kCompleted, .reason = RunReason::kReturned}};
}
// Waits in a call until it is answered or cancelled.
inline FakeScript Calls(std::string tool) {
  return {.steps = {FakeCall{.tool = std::move(tool)}},
          .outcome = {.status = RunStatus::kCompleted, .reason = RunReason::kReturned}};
}
inline FakeScript TimesOut() {
  return {.outcome = {.status = RunStatus::kLimit, .reason = RunReason::kWallTime},
          .loses_state = true};
}

}  // namespace caisson
