#include "policy/policy.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "policy/lists.h"

namespace caisson {
namespace {

struct Subject {
  const char* name;
  PolicyChanges Policy::* changes;
};
constexpr Subject kSubjects[] = {
    {"imports", &Policy::imports},
    {"builtins", &Policy::builtins},
    {"os_attributes", &Policy::os_attributes},
    {"attributes", &Policy::attributes},
    {"nodes", &Policy::nodes},
};

void AddList(std::string key, const std::vector<std::string>& names, Dict& dict) {
  List list;
  for (const std::string& name : names) list.items.emplace_back(name);
  dict.items.emplace_back(std::move(key), std::move(list));
}

void AddChanges(const std::string& subject, const PolicyChanges& changes, Dict& dict) {
  if (changes.instead) AddList(subject, *changes.instead, dict);
  if (!changes.allow.empty()) AddList("allow_" + subject, changes.allow, dict);
  if (!changes.block.empty()) AddList("block_" + subject, changes.block, dict);
}

std::set<std::string> Allowed(const char* const* preset, const PolicyChanges& changes) {
  std::set<std::string> names;
  if (changes.instead) {
    names.insert(changes.instead->begin(), changes.instead->end());
  } else {
    for (; *preset != nullptr; ++preset) names.insert(*preset);
  }
  names.insert(changes.allow.begin(), changes.allow.end());
  for (const std::string& name : changes.block) names.erase(name);
  return names;
}

std::string Join(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out.empty() ? "none" : out;
}

}  // namespace

Value EncodePolicy(const Policy& policy) {
  if (policy.preset == PolicyPreset::kOpen) return std::int64_t{0};
  Dict lists;
  for (const Subject& subject : kSubjects) {
    AddChanges(subject.name, policy.*subject.changes, lists);
  }
  if (lists.items.empty()) return std::int64_t{1};
  return lists;
}

std::vector<std::string> PolicyConflicts(const Policy& policy) {
  std::vector<std::string> conflicts;
  for (const Subject& subject : kSubjects) {
    const PolicyChanges& changes = policy.*subject.changes;
    for (const std::string& name : changes.block) {
      const bool in_allow = std::ranges::count(changes.allow, name) > 0;
      const bool in_instead = changes.instead && std::ranges::count(*changes.instead, name) > 0;
      if (in_allow || in_instead) conflicts.push_back(std::string(subject.name) + ": " + name);
    }
  }
  return conflicts;
}

std::string DescribePolicy(const Policy& policy, const std::vector<std::string>& packages) {
  std::set<std::string> present(packages.begin(), packages.end());
  if (policy.preset == PolicyPreset::kOpen) {
    return present.empty() ? "Any Python may be used."
                           : "Any Python may be used, and these packages: " + Join(present) + ".";
  }
  for (const std::string& name : policy.imports.block) present.erase(name);
  std::string out = "Only these modules may be imported: ";
  out += Join(Allowed(caisson_strict_imports, policy.imports));
  if (!present.empty()) out += "; and these packages: " + Join(present);
  out += ". Of os only: " + Join(Allowed(caisson_strict_os_attributes, policy.os_attributes));
  out +=
      ". Not allowed: eval, exec, compile, globals, locals, vars, dir, input, dunder attributes "
      "that "
      "lead out of your own objects (__globals__, __subclasses__...), frames and tracebacks as "
      "objects. Use modules directly (json.dumps), not as values; give getattr a literal name; use "
      "f-strings rather than format() on a computed string. open() and pathlib work.";
  return out;
}

}  // namespace caisson
