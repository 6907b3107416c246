#include "config/table_reader.h"

#include <algorithm>
#include <cmath>

#include "base/closest.h"

namespace caisson {
namespace {

constexpr int kMaxDepth = 100;

std::optional<std::vector<std::string>> Strings(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> strings;
  for (const toml::node& item : *array) {
    const auto text = item.value_exact<std::string>();
    if (!text) return std::nullopt;
    strings.push_back(*text);
  }
  return strings;
}

std::optional<Value> Convert(const toml::node& node, int depth) {
  if (depth > kMaxDepth) return std::nullopt;
  if (const auto text = node.value_exact<std::string>()) return Value(*text);
  if (const auto number = node.value_exact<std::int64_t>()) return Value(*number);
  if (const auto flag = node.value_exact<bool>()) return Value(*flag);
  if (const auto real = node.value_exact<double>()) {
    return std::isfinite(*real) ? std::optional(Value(*real)) : std::nullopt;
  }
  if (const toml::array* array = node.as_array()) {
    List list;
    for (const toml::node& item : *array) {
      auto value = Convert(item, depth + 1);
      if (!value) return std::nullopt;
      list.items.push_back(*std::move(value));
    }
    return Value(std::move(list));
  }
  const toml::table* table = node.as_table();
  if (table == nullptr) return std::nullopt;
  // toml++ keeps keys sorted; this restores the order of the file, as in JSON.
  std::vector<std::pair<const toml::key*, const toml::node*>> items;
  for (const auto& [key, item] : *table) items.emplace_back(&key, &item);
  std::ranges::sort(items, {}, [](const auto& item) {
    const auto& begin = item.first->source().begin;
    return std::pair(begin.line, begin.column);
  });
  Dict dict;
  for (const auto& [key, item] : items) {
    auto value = Convert(*item, depth + 1);
    if (!value) return std::nullopt;
    dict.items.emplace_back(std::string(key->str()), *std::move(value));
  }
  return Value(std::move(dict));
}

}  // namespace

void Problems::Add(const toml::node& where, std::string_view what) {
  found_.emplace_back(where.source().begin.line, what);
}

std::string Problems::text() const {
  auto in_order = found_;
  std::ranges::sort(in_order);
  std::string text;
  for (const auto& [line, what] : in_order) {
    if (!text.empty()) text += '\n';
    text += file_name_ + ":" + std::to_string(line) + ": " + what;
  }
  return text;
}

const toml::node* TableReader::Find(std::string_view key) {
  known_.emplace_back(key);
  return table_.get(key);
}

void TableReader::Complain(std::string_view key, std::string_view what) {
  const toml::node* node = table_.get(key);
  const std::string place = (name_.empty() ? "" : name_ + ".") + std::string(key);
  problems_.Add(node == nullptr ? table_ : *node, place + " " + std::string(what));
}

void TableReader::Require(std::string_view key) {
  if (table_.get(key) == nullptr) Complain(key, "is missing");
}

void TableReader::Read(std::string_view key, std::string& out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  const auto text = node->value_exact<std::string>();
  if (!text || text->empty()) return Complain(key, "must be a text that is not empty");
  out = *text;
}

void TableReader::Read(std::string_view key, bool& out) {
  std::optional<bool> flag;
  Read(key, flag);
  out = flag.value_or(out);
}

void TableReader::Read(std::string_view key, std::optional<bool>& out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  const auto flag = node->value_exact<bool>();
  if (!flag) return Complain(key, "must be true or false");
  out = flag;
}

void TableReader::Read(std::string_view key, std::optional<std::uint64_t>& out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  const auto number = node->value_exact<std::int64_t>();
  if (!number || *number <= 0) return Complain(key, "must be a whole number above 0");
  out = static_cast<std::uint64_t>(*number);
}

void TableReader::Read(std::string_view key, std::vector<std::string>& out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  auto strings = Strings(*node);
  if (!strings) return Complain(key, "must be a list of texts");
  out = *std::move(strings);
}

void TableReader::Read(std::string_view key,
                       std::vector<std::pair<std::string, std::string>>& out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  const toml::table* table = node->as_table();
  if (table == nullptr) return Complain(key, "must be a table of texts");
  for (const auto& [name, value] : *table) {
    const auto text = value.value_exact<std::string>();
    if (!text) return Complain(key, "must be a table of texts");
    out.emplace_back(std::string(name.str()), *text);
  }
}

void TableReader::Read(std::string_view key, std::optional<Value>& out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  auto value = ToValue(*node);
  if (!value) return Complain(key, "contains a value that JSON cannot hold");
  out = *std::move(value);
}

void TableReader::ReadSeconds(std::string_view key, std::optional<std::chrono::nanoseconds>& out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  constexpr double kMost = 1e8;
  const auto seconds = node->is_number() ? node->value<double>() : std::nullopt;
  if (!seconds || !(*seconds > 0 && *seconds <= kMost)) {
    return Complain(key, "must be a number of seconds above 0");
  }
  out = std::chrono::nanoseconds(static_cast<std::int64_t>(std::ceil(*seconds * 1e9)));
}

void TableReader::ReadDays(std::string_view key, std::optional<std::chrono::nanoseconds>& out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  constexpr double kMost = 36'500;
  const auto days = node->is_number() ? node->value<double>() : std::nullopt;
  if (!days || !(*days > 0 && *days <= kMost)) {
    return Complain(key, "must be a number of days above 0, a hundred years at most");
  }
  out = std::chrono::nanoseconds(static_cast<std::int64_t>(std::ceil(*days * 86'400e9)));
}

void TableReader::ReadSecret(const std::string& key, SecretReference& out) {
  Read(key + "_env", out.environment);
  Read(key + "_file", out.file);
  if (!out.environment.empty() && !out.file.empty()) {
    Complain(key + "_file", "and " + key + "_env cannot both be given");
  }
  if (table_.get(key) != nullptr) {
    known_.push_back(key);
    Complain(key, "must not be in this file; name a variable with " + key + "_env or a file with " +
                      key + "_file");
  }
}

const toml::table* TableReader::Table(std::string_view key) {
  const toml::node* node = Find(key);
  if (node == nullptr) return nullptr;
  if (node->as_table() == nullptr) Complain(key, "must be a table, [" + std::string(key) + "]");
  return node->as_table();
}

void TableReader::EachTable(
    std::string_view key, const std::function<void(const toml::table&, const std::string&)>& read) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  const std::string place = (name_.empty() ? "" : name_ + ".") + std::string(key);
  const toml::array* array = node->as_array();
  const bool tables = array != nullptr && std::ranges::all_of(*array, [](const toml::node& item) {
                        return item.is_table();
                      });
  if (!tables) return Complain(key, "must be tables, each begun with [[" + place + "]]");
  std::size_t number = 0;
  for (const toml::node& item : *array) {
    read(*item.as_table(), place + "[" + std::to_string(number++) + "]");
  }
}

void TableReader::Finish() {
  const std::vector<std::string_view> names(known_.begin(), known_.end());
  for (const auto& [key, node] : table_) {
    if (std::ranges::find(known_, key.str()) != known_.end()) continue;
    // Uses the key's own line, because a table's node begins after its brackets.
    Complain(key.str(), "is not known" + DidYouMean(key.str(), names));
  }
}

std::optional<Value> ToValue(const toml::node& node) {
  return Convert(node, 0);
}

}  // namespace caisson
