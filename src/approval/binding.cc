#include "approval/binding.h"

#include <utility>

#include "wire/canonical_json.h"

namespace caisson {
namespace {

Value RuleOf(const Approval& approval) {
  switch (approval.mode()) {
    case Approval::Mode::kNever:
      return "never";
    case Approval::Mode::kAlways:
      return "always";
    case Approval::Mode::kWhen:
      return Dict{{{"when", approval.rule()->document()}}};
    case Approval::Mode::kUnless:
      return Dict{{{"unless", approval.rule()->document()}}};
  }
  return {};
}

}  // namespace

Result<std::string> ToolDigest(const Tool& tool) {
  const ToolDefinition& definition = tool.definition();
  // Each part is encoded separately, so that a schema may have the full nesting depth.
  List parts;
  for (const Value& part :
       {Value(definition.name), Value(definition.description), definition.input_schema,
        definition.output_schema.value_or(Value()), RuleOf(definition.approval),
        Value(definition.repeat == Repeat::kIdempotent), Value(definition.revision)}) {
    auto text = CanonicalJson(part);
    if (!text) return std::move(text).error().Context("definition of tool " + tool.name());
    parts.items.emplace_back(*std::move(text));
  }
  TRY_ASSIGN(const std::string text, CanonicalJson(parts));
  return DigestOf("caisson tool 1", text);
}

std::string CodeDigest(std::string_view code) {
  return DigestOf("caisson code 1", code);
}

Result<CallBinding> BindCall(CallPlace place, const Tool& tool,
                             const CanonicalArguments& arguments) {
  TRY_ASSIGN(std::string tool_digest, ToolDigest(tool));
  return CallBinding{.run = std::move(place.run),
                     .seq = place.seq,
                     .tool = tool.name(),
                     .tool_digest = std::move(tool_digest),
                     .arguments_digest = arguments.digest,
                     .code_digest = std::move(place.code_digest)};
}

}  // namespace caisson
