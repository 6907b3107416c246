// Headers are the fields of a message, in the order they came, found without regard to case.
//
// Trust     Those of a request are hostile; sizes were bounded when they were read.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caisson::net {

class Headers {
 public:
  struct Field {
    std::string name;
    std::string value;
  };

  Headers() = default;
  Headers(std::initializer_list<Field> fields) : fields_(fields) {}

  void Add(std::string name, std::string value) {
    fields_.push_back({.name = std::move(name), .value = std::move(value)});
  }
  // The first of that name; null if there is none.
  const std::string* Find(std::string_view name) const;
  std::size_t Count(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

// ASCII letters alone: header names, tokens, hosts.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// Whether a comma-separated list (Connection, Accept) has an item that begins with `token`, up to a parameter.
bool HasToken(std::string_view list, std::string_view token);

// What may stand in a message we write: no control character, so that no value can begin a field of its own.
bool IsFieldValue(std::string_view value);

}  // namespace caisson::net
