#include "workflow/workflow_json.h"

#include <string>
#include <utility>

#include "base/rfc3339.h"
#include "wire/object.h"

namespace caisson {

Dict ToDict(const WorkflowView& view) {
  List outputs;
  for (const WorkflowOutput& each : view.outputs) {
    outputs.items.emplace_back(Object({{"executor", each.executor.str()}, {"value", each.value}}));
  }
  List requests;
  for (const OpenRequest& each : view.requests) {
    requests.items.emplace_back(Object({{"id", each.id.str()},
                                        {"executor", each.executor.str()},
                                        {"prompt", each.prompt},
                                        {"message", each.message},
                                        {"response", each.response},
                                        {"asked_at", ToRfc3339(each.asked_at)}}));
  }
  List approvals;
  for (const OpenApproval& each : view.approvals) {
    approvals.items.emplace_back(Object(
        {{"id", each.id.str()}, {"run", each.run.str()}, {"executor", each.executor.str()}}));
  }
  const auto text_or_null = [](std::string_view text) {
    return text.empty() ? Value() : Value(std::string(text));
  };
  return Object({{"instance", view.instance.str()},
                 {"workflow", view.workflow},
                 {"status", std::string(ToString(view.status))},
                 {"fault", text_or_null(ToString(view.fault))},
                 {"error", text_or_null(view.error)},
                 {"superstep", static_cast<std::int64_t>(view.superstep)},
                 {"checkpoint", view.checkpoint.str()},
                 {"outputs", Value(std::move(outputs))},
                 {"requests", Value(std::move(requests))},
                 {"approvals", Value(std::move(approvals))}});
}

}  // namespace caisson
