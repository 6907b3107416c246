// A TableReader reads one table of a TOML document, key by key, and reports unknown keys at the
// end.
//
//   TableReader table(document, "server", problems);
//   table.Read("listen", config.listen);
//   table.Finish();                // "caisson.toml:3: server.lisen is not known; did you mean ..."
//
// Mistakes go to Problems, and reading continues, so that all of them are reported together.
//
// Trust     The operator's own file.
// Threads   One.
// Lifetime  Refers to the document and to Problems.
#pragma once

#include <toml++/toml.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "wire/value.h"

namespace caisson {

class Problems {
 public:
  explicit Problems(std::string_view file_name) : file_name_(file_name) {}

  void Add(const toml::node& where, std::string_view what);
  // Returns one line per mistake, in the order of the file; empty if there is none.
  std::string text() const;

 private:
  std::string file_name_;
  std::vector<std::pair<std::uint32_t, std::string>> found_;  // Each with its line number.
};

class TableReader {
 public:
  // `name` is used in messages: "server", "tool[2]", or "" for the document itself.
  TableReader(const toml::table& table, std::string name, Problems& problems)
      : table_(table), name_(std::move(name)), problems_(problems) {}

  // A missing key leaves `out` unchanged.
  void Read(std::string_view key, std::string& out);
  void Read(std::string_view key, bool& out);
  void Read(std::string_view key, std::optional<bool>& out);
  void Read(std::string_view key, std::optional<std::uint64_t>& out);  // Above 0.
  void Read(std::string_view key, std::vector<std::string>& out);
  void Read(std::string_view key, std::vector<std::pair<std::string, std::string>>& out);
  void Read(std::string_view key, std::optional<Value>& out);  // A schema: any JSON.
  void ReadSeconds(std::string_view key, std::optional<std::chrono::nanoseconds>& out);
  void ReadDays(std::string_view key, std::optional<std::chrono::nanoseconds>& out);
  // Reads `key`_env or `key`_file.
  void ReadSecret(const std::string& key, SecretReference& out);
  // Reads one of several words.
  template <typename T>
  void ReadChoice(std::string_view key, T& out,
                  std::initializer_list<std::pair<std::string_view, T>> choices);

  // Reports a mistake if the key is missing.
  void Require(std::string_view key);

  const toml::node* Find(std::string_view key);  // Null if it is missing.
  const toml::table* Table(std::string_view key);
  // Calls `read` for each table of an array, with its name for messages.
  void EachTable(std::string_view key,
                 const std::function<void(const toml::table&, const std::string&)>& read);

  void Complain(std::string_view key, std::string_view what);
  // Reports each key that was not read as a mistake.
  void Finish();

 private:
  const toml::table& table_;
  const std::string name_;
  Problems& problems_;
  std::vector<std::string> known_;
};

// Converts a TOML node to a Value; nullopt if it contains dates or other things that JSON cannot
// hold.
std::optional<Value> ToValue(const toml::node& node);

template <typename T>
void TableReader::ReadChoice(std::string_view key, T& out,
                             std::initializer_list<std::pair<std::string_view, T>> choices) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  const auto text = node->value_exact<std::string_view>();
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) {
      out = value;
      return;
    }
    names.append(names.empty() ? "" : ", ").append(name);
  }
  Complain(key, "must be one of " + names);
}

}  // namespace caisson
