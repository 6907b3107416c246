#include "config/run_tables.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace caisson {
namespace {

// Returns the text for SetLimit, which knows the names and their ranges. A value that is not a
// number is shown as it is.
std::string LimitText(const toml::node& node) {
  if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
  if (const auto text = node.value_exact<std::string>()) return "'" + *text + "'";
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  const auto real = node.value_exact<double>();
  if (!real) return node.is_table() ? "{...}" : node.is_array() ? "[...]" : "a date";
  std::array<char, 512> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), *real, std::chars_format::fixed);
  return {digits.data(), end.ptr};
}

}  // namespace

void ReadLimits(const toml::table& table, std::string_view name, const Limits& most, Limits& limits,
                Problems& problems) {
  for (const auto& [key, node] : table) {
    if (key.str() == "max" && name == "limits") continue;
    Limits alone = LowerTo(most, {});
    auto set = SetLimit(alone, key.str(), LimitText(node));
    if (set) set = CheckLimits(alone, most);
    if (set) set = SetLimit(limits, key.str(), LimitText(node));
    if (!set) problems.Add(node, std::string(name) + ": " + set.error().message());
  }
}

MountConfig ReadMount(TableReader table) {
  MountConfig mount;
  table.Read("host", mount.host);
  table.Read("guest", mount.guest);
  table.ReadChoice<MountMode>("mode", mount.mode,
                              {{"ro", MountMode::kReadOnly},
                               {"rw", MountMode::kReadWrite},
                               {"overlay", MountMode::kOverlay}});
  table.Require("host");
  table.Require("guest");
  table.Finish();
  return mount;
}

}  // namespace caisson
