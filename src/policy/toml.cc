#include "policy/toml.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/closest.h"
#include "policy/lists.h"

namespace caisson {
namespace {

enum class NameForm { kIdentifier, kDotted, kNode };

struct Key {
  std::string_view name;
  PolicyChanges Policy::* changes;
  NameForm form;
};
constexpr Key kKeys[] = {
    {"imports", &Policy::imports, NameForm::kDotted},
    {"builtins", &Policy::builtins, NameForm::kIdentifier},
    {"os_attributes", &Policy::os_attributes, NameForm::kIdentifier},
    {"attributes", &Policy::attributes, NameForm::kIdentifier},
    {"nodes", &Policy::nodes, NameForm::kNode},
};

Error Bad(std::string_view key, std::string_view what) {
  return {ErrorCode::kInvalidArgument, "policy." + std::string(key) + " " + std::string(what)};
}

bool IsNode(std::string_view name) {
  for (const char* const* node = caisson_nodes; *node != nullptr; ++node) {
    if (name == *node) return true;
  }
  return false;
}

// Identifiers beyond ASCII exist, but no module, builtin or node has such a name.
bool IsName(std::string_view name, NameForm form) {
  if (form == NameForm::kNode) return IsNode(name);
  char before = '.';
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    const bool dot = c == '.' && form == NameForm::kDotted;
    if (!letter && (!digit || before == '.') && (!dot || before == '.')) return false;
    before = c;
  }
  return before != '.';
}

Result<std::vector<std::string>> ParseNames(std::string_view key, const toml::node& node,
                                            NameForm form) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return Bad(key, "must be a list of names");
  std::vector<std::string> names;
  for (const toml::node& item : *array) {
    const auto* text = item.as_string();
    if (text == nullptr) return Bad(key, "must be a list of names");
    if (!IsName(text->get(), form)) {
      return Bad(key, "has \"" + text->get() + "\", which is " +
                          (form == NameForm::kNode ? "not a kind of syntax tree node" : "no name"));
    }
    names.push_back(text->get());
  }
  return names;
}

Error UnknownKey(std::string_view key) {
  std::vector<std::string> known = {"preset"};
  for (const Key& subject : kKeys) {
    for (const char* prefix : {"", "allow_", "block_"}) {
      known.push_back(prefix + std::string(subject.name));
    }
  }
  return Bad(key, "is not known" + DidYouMean(key, {known.begin(), known.end()}));
}

Result<void> ParsePreset(const toml::node& node, Policy& policy) {
  const auto* text = node.as_string();
  const std::string_view name = text == nullptr ? std::string_view() : text->get();
  if (name != "strict" && name != "open") return Bad("preset", R"(must be "strict" or "open")");
  policy.preset = name == "open" ? PolicyPreset::kOpen : PolicyPreset::kStrict;
  return {};
}

Result<void> ParseKey(std::string_view key, const toml::node& node, Policy& policy) {
  if (key == "preset") return ParsePreset(node, policy);
  std::string_view subject = key;
  const bool allow = subject.starts_with("allow_"), block = subject.starts_with("block_");
  if (allow || block) subject.remove_prefix(6);
  const auto* known = std::ranges::find(kKeys, subject, &Key::name);
  if (known == std::end(kKeys)) return UnknownKey(key);
  TRY_ASSIGN(std::vector<std::string> names, ParseNames(key, node, known->form));
  PolicyChanges& changes = policy.*known->changes;
  if (allow) {
    changes.allow = std::move(names);
  } else if (block) {
    changes.block = std::move(names);
  } else {
    changes.instead = std::move(names);
  }
  return {};
}

}  // namespace

Result<Policy> ParsePolicy(const toml::table& table) {
  Policy policy;
  for (const auto& [key, node] : table) TRY(ParseKey(key.str(), node, policy));
  const bool has_lists = policy != Policy{.preset = policy.preset};
  if (policy.preset == PolicyPreset::kOpen && has_lists) {
    return Bad("preset", "is \"open\", which checks nothing: the lists have no effect");
  }
  return policy;
}

Result<Policy> ParsePolicyText(std::string_view text) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Error(ErrorCode::kInvalidArgument, "line " + std::to_string(error.source().begin.line) +
                                                  ": " + std::string(error.description()));
  }
  const toml::table* inner = table.size() == 1 ? table["policy"].as_table() : nullptr;
  return ParsePolicy(inner == nullptr ? table : *inner);
}

}  // namespace caisson
