#include "tools/registry.h"

#include <algorithm>
#include <utility>

#include "base/closest.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxShown = 64;
constexpr std::size_t kMaxListed = 1000;

using Tools = std::vector<std::shared_ptr<const Tool>>;

auto PlaceOf(Tools& tools, std::string_view name) {
  return std::ranges::find_if(tools, [&](const auto& tool) { return tool->name() == name; });
}

// Returns the entry in the form of guest/abi.h. If a default is nested too deeply for the guest,
// the tool has only its name.
Value EntryOf(const Tool& tool) {
  Bytes description;
  if (!EncodeValue(tool.signature().Encode(), description.data)) return tool.name();
  return Tuple{{tool.name(), std::move(description)}};
}

Error Missing(std::string_view name) {
  return Error(ErrorCode::kNotFound, "there is no tool \"" + std::string(name) + "\"");
}

}  // namespace

ToolSet::ToolSet(Tools tools) : tools_(std::move(tools)) {
  if (tools_.empty()) return;
  List entries;
  for (const auto& tool : tools_) {
    by_name_.emplace(tool->name(), tool.get());
    entries.items.push_back(EntryOf(*tool));
  }
  auto encoded = std::make_shared<std::string>();
  (void)EncodeValue(entries, *encoded).has_value();  // Names and bytes cannot fail.
  signatures_ = std::move(encoded);
}

const Tool* ToolSet::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

bool MayAsk(const ToolSet& tools) {
  return std::ranges::any_of(tools.tools(), [](const auto& tool) {
    return tool->definition().approval.mode() != Approval::Mode::kNever;
  });
}

Error ToolSet::NoSuchTool(std::string_view name) const {
  std::vector<std::string_view> names;
  std::string list;
  for (const auto& tool : tools_) {
    names.push_back(tool->name());
    if (list.size() < kMaxListed) list.append(list.empty() ? "" : ", ").append(tool->name());
  }
  std::string message = "there is no tool \"" + std::string(name.substr(0, kMaxShown)) + "\"";
  message += DidYouMean(name, names);
  message += list.empty() ? "; no tools are configured" : " The tools are: " + list;
  return Error(ErrorCode::kNotFound, std::move(message));
}

Result<void> ToolRegistry::Add(std::shared_ptr<const Tool> tool) {
  auto state = set_.Lock();
  if (state->set->Find(tool->name()) != nullptr) {
    return Error(ErrorCode::kFailedPrecondition,
                 "there is already a tool \"" + tool->name() + "\"");
  }
  Tools tools = state->set->tools();
  tools.push_back(std::move(tool));
  state->set = std::make_shared<const ToolSet>(std::move(tools));
  return {};
}

Result<void> ToolRegistry::Replace(std::shared_ptr<const Tool> tool) {
  auto state = set_.Lock();
  Tools tools = state->set->tools();
  const auto place = PlaceOf(tools, tool->name());
  if (place == tools.end()) return Missing(tool->name());
  *place = std::move(tool);
  state->set = std::make_shared<const ToolSet>(std::move(tools));
  return {};
}

Result<void> ToolRegistry::Remove(std::string_view name) {
  auto state = set_.Lock();
  Tools tools = state->set->tools();
  const auto place = PlaceOf(tools, name);
  if (place == tools.end()) return Missing(name);
  tools.erase(place);
  state->set = std::make_shared<const ToolSet>(std::move(tools));
  return {};
}

void ToolRegistry::Clear() {
  set_.Lock()->set = std::make_shared<const ToolSet>();
}

}  // namespace caisson
