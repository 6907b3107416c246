// The bodies of AG-UI requests, the answers to interrupts, and patches of the state.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "protocol/agui/resume.h"
#include "protocol/agui/run_input.h"
#include "protocol/agui/state_tool.h"
#include "protocol/agui/thread.h"
#include "wire/json.h"
#include "wire/object.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caisson;        // NOLINT(google-build-using-namespace)
  using namespace caisson::agui;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<OpenInterrupt> open = {
      {.id = "a", .tool_call = "c", .tool = "send", .arguments = Object({{"to", "x"}})}};
  if (const auto input = ParseRunInput(text)) {
    Thread thread{.messages = {Object({{"id", "1"}, {"role", "user"}, {"content", "hi"}})},
                  .client_calls = {{.tool_call = "d", .call_id = "m", .tool = "show"}}};
    static_cast<void>(NewsIn(*input, thread));
    if (input->state) MergeState(thread.state, *input->state);
    if (input->resume) static_cast<void>(JudgeResume(*input->resume, open, SystemTime()));
    static_cast<void>(RequestInstructions(*input, "", thread.state));
    if (const auto stored = Encode(thread)) {
      if (!DecodeThread(*stored)) __builtin_trap();
    }
  }
  if (const auto resume = ParseJson(text)) {
    static_cast<void>(JudgeResume(*resume, open, SystemTime()));
  }
  Value state = Object({{"a", List{{Value(1), Value("x")}}}, {"b", Dict{}}});
  static_cast<void>(PatchState(state, text));
  static_cast<void>(DecodeThread(text));
  return 0;
}
