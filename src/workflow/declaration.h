// Reads the declaration of a workflow: a document from TOML or JSON, with its lines.
//
//   name = "report"
//   start = "draft"
//   [[executor]]  id = "draft"  kind = "code"  code = "..."  output = "string"
//   [[executor]]  id = "review"  kind = "request"  prompt = "Send it?"  output = "boolean"
//   [[edge]]      from = "draft"  to = "review"    # to = [...]: fan-out; from = [...]: fan-in
//   [[switch]]    from = "review"  default = "draft"
//   cases = [{ when = { const = true }, to = "send", limit = 3 }]
//
// Trust     The operator's file; it is parsed strictly. Unknown keys are mistakes.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/located_value.h"
#include "workflow/graph.h"

namespace caisson {

// Finds the workflow that a step of kind "workflow" names. Null: there is none.
using FindWorkflow = std::function<std::shared_ptr<const Workflow>(std::string_view name)>;

// The error has one line for each mistake: "report.toml:7: ...".
Result<std::shared_ptr<const Workflow>> ReadDeclaration(const LocatedValue& document,
                                                        std::string_view file_name,
                                                        const FindWorkflow& find = {});

}  // namespace caisson
