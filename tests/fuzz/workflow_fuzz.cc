// Declarations of workflows in JSON: whatever is read can be drawn, and its state can be stored.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "workflow/declaration.h"
#include "workflow/mermaid.h"
#include "workflow/superstep.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caisson;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = ParseLocatedJson(text);
  if (!document) return 0;
  const auto workflow = ReadDeclaration(*document, "w.json");
  if (!workflow) return 0;
  if (ToMermaid(**workflow).empty()) std::abort();
  InstanceState state = Begin(**workflow, Value("x"));
  for (int i = 0; i < 20 && CanGoOn(state); ++i) {
    std::vector<Value> outputs;
    for (const PlannedStep& step : PlanOf(**workflow, state)) outputs.push_back(*step.message);
    Advance(**workflow, state, {.instance = InstanceId("wf")}, std::move(outputs));
  }
  const auto bytes = Encode(state, kMaxWorkflowLimits.state_bytes);
  if (bytes && !DecodeInstanceState(*bytes)) std::abort();
  return 0;
}
