#include "protocol/agui/state_tool.h"

#include <utility>

#include "protocol/agui/thread.h"
#include "wire/json.h"
#include "wire/json_patch.h"
#include "wire/object.h"

namespace caisson::agui {
namespace {

constexpr std::size_t kMaxShownStateBytes = 32u << 10;

}  // namespace

model::ToolDeclaration StateToolDeclaration() {
  const Dict operation = Object(
      {{"type", "object"},
       {"properties",
        Object({{"op", Object({{"enum", List{{Value("add"), Value("replace"), Value("remove"),
                                              Value("move"), Value("copy"), Value("test")}}}})},
                {"path", Object({{"type", "string"}})},
                {"from", Object({{"type", "string"}})},
                {"value", Dict{}}})},
       {"required", List{{Value("op"), Value("path")}}}});
  return {
      .name = std::string(kStateTool),
      .description =
          "Changes the state that is shared with the application, by a JSON Patch "
          "(RFC 6902).",
      .input_schema = Object(
          {{"type", "object"},
           {"properties", Object({{"patch", Object({{"type", "array"}, {"items", operation}})}})},
           {"required", List{{Value("patch")}}}})};
}

Result<List> PatchState(Value& state, std::string_view arguments) {
  TRY_ASSIGN(const Value given, ParseJson(arguments));
  const auto* object = given.If<Dict>();
  const auto* patch = object == nullptr ? nullptr : FindAs<List>(*object, "patch");
  if (patch == nullptr) {
    return Error(ErrorCode::kInvalidArgument, "\"patch\" must be a list of operations");
  }
  TRY_ASSIGN(state, ApplyPatch(state, *patch, kMaxStateBytes));
  return *patch;
}

std::string RequestInstructions(const RunInput& input, const std::string& instructions,
                                const Value& state) {
  std::string text = instructions;
  for (const ContextEntry& entry : input.context) {
    text.append(entry.description).append(": ").append(entry.value).append("\n");
  }
  if (IsEmptyState(state)) return text;
  const auto json = ToJson(state);
  if (json && json->size() <= kMaxShownStateBytes) {
    text.append("The state shared with the application is ").append(*json);
    text.append(". Change it with ").append(kStateTool).append(".\n");
  } else {
    text.append("The state shared with the application is too long to be shown.\n");
  }
  return text;
}

}  // namespace caisson::agui
