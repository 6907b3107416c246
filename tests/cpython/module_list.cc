#include "module_list.h"

#include <utility>

namespace caisson::cpython {
namespace {

constexpr std::string_view kSpace = " \t\r";

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Returns the first word, and the rest.
std::pair<std::string_view, std::string_view> Split(std::string_view line) {
  const std::size_t end = line.find_first_of(kSpace);
  if (end == line.npos) return {line, {}};
  return {line.substr(0, end), Trim(line.substr(end))};
}

Result<void> TakeLine(std::string_view line, std::vector<TestModule>& modules) {
  const bool indented = kSpace.contains(line.front());
  const auto [word, rest] = Split(Trim(line));
  if (!indented) {
    if (!rest.empty() && rest != "quick") {
      return Error(ErrorCode::kInvalidArgument, "after a module's name only `quick` may stand");
    }
    modules.push_back({.name = std::string(word), .quick = rest == "quick"});
    return {};
  }
  if (modules.empty() || rest.empty()) {
    return Error(ErrorCode::kInvalidArgument, "a test is left out of a module, and for a reason");
  }
  modules.back().left_out.push_back({.pattern = std::string(word), .reason = std::string(rest)});
  return {};
}

}  // namespace

Result<std::vector<TestModule>> ParseModuleList(std::string_view text) {
  std::vector<TestModule> modules;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (Trim(line).empty() || Trim(line).starts_with('#')) continue;
    if (auto taken = TakeLine(line, modules); !taken) {
      return std::move(taken).error().Context("line " + std::to_string(number));
    }
  }
  return modules;
}

}  // namespace caisson::cpython
