#include "context/child_environment.h"

#include <unistd.h>

#include <string_view>

namespace caisson {
namespace {

Error Bad(const std::string& name, std::string_view problem) {
  return Error(ErrorCode::kInvalidArgument,
               "environment variable \"" + name + "\" " + std::string(problem));
}

Result<void> CheckName(const std::string& name) {
  if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos) {
    return Bad(name, "has no name that an environment can hold");
  }
  return {};
}

// The loader and the C library obey these before the program does anything.
bool ChangesLoading(std::string_view name) {
  return name.starts_with("LD_") || name.starts_with("DYLD_") || name == "GLIBC_TUNABLES";
}

}  // namespace

HostVariables TakeHostVariables() {
  HostVariables variables;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t end = text.find('=');
    if (end == text.npos || end == 0) continue;
    variables.emplace(text.substr(0, end), text.substr(end + 1));
  }
  return variables;
}

Result<ChildEnvironment> ChildEnvironment::Build(const Recipe& recipe, const HostVariables& host) {
  HostVariables all;
  for (const auto& [name, value] : recipe.set) {
    TRY(CheckName(name));
    if (value.find('\0') != value.npos) return Bad(name, "has a NUL in its value");
    if (!all.emplace(name, value).second) return Bad(name, "is set twice");
  }
  for (const std::string& name : recipe.inherited) {
    TRY(CheckName(name));
    if (ChangesLoading(name)) {
      return Bad(name, "changes how programs are loaded and is not inherited; set it to a value");
    }
    const auto found = host.find(name);
    if (found != host.end()) all.emplace(*found);
  }
  ChildEnvironment environment;
  for (const auto& [name, value] : all) environment.entries_.push_back(name + "=" + value);
  return environment;
}

}  // namespace caisson
