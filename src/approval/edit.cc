#include "approval/edit.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "approval/binding.h"
#include "tools/arguments.h"

namespace caisson {
namespace {

Error Bad(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}

// The type as JSON names it. Values that JSON does not have are of a type of their own.
std::string_view TypeOf(const Value& value) {
  if (value.is_none()) return "null";
  if (value.If<bool>() != nullptr) return "boolean";
  if (value.If<std::int64_t>() != nullptr || value.If<BigInt>() != nullptr ||
      value.If<double>() != nullptr) {
    return "number";
  }
  if (value.If<std::string>() != nullptr) return "string";
  if (value.If<List>() != nullptr || value.If<Tuple>() != nullptr) return "array";
  if (value.If<Dict>() != nullptr) return "object";
  return "bytes";
}

Result<void> Change(Dict& arguments, const std::string& name, const Value& to) {
  const auto found = std::ranges::find_if(
      arguments.items, [&](const auto& item) { return item.first == Value(name); });
  if (found == arguments.items.end()) {
    return Bad("\"" + name + "\" is not an argument of this call; only its arguments can change");
  }
  const std::string_view type = TypeOf(found->second);
  if (TypeOf(to) != type) {
    return Bad("\"" + name + "\" must stay of type " + std::string(type) + ", and is of type " +
               std::string(TypeOf(to)));
  }
  found->second = to;
  return {};
}

}  // namespace

Result<std::optional<EditedArguments>> EditArguments(const NewApproval& asked, const Dict& changes,
                                                     const Tool& tool) {
  TRY_ASSIGN(const std::string digest, ToolDigest(tool));
  if (tool.name() != asked.binding.tool || digest != asked.binding.tool_digest) {
    return Error(ErrorCode::kFailedPrecondition,
                 asked.binding.tool + " has changed since somebody was asked about it");
  }
  auto arguments = ParseArguments(asked.arguments, asked.binding.arguments_digest);
  if (!arguments) return Error(ErrorCode::kFailedPrecondition, arguments.error().message());
  for (const auto& [key, value] : changes.items) {
    const auto* name = key.If<std::string>();
    if (name == nullptr) return Bad("the names of arguments must be strings");
    TRY(Change(*arguments, *name, value));
  }
  TRY_ASSIGN(const Dict bound, tool.Bind({}, *std::move(arguments)));
  TRY_ASSIGN(CanonicalArguments edited, Canonicalize(bound));
  if (edited.digest == asked.binding.arguments_digest) return std::optional<EditedArguments>();
  return std::optional(
      EditedArguments{.text = std::move(edited.text), .digest = std::move(edited.digest)});
}

}  // namespace caisson
