// Headers are the fields of a message, in order of arrival. Lookup ignores case.
//
// Trust     The headers of a request are hostile; their sizes were bounded when they were read.
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
  // Returns the first field of that name; null if there is none.
  const std::string* Find(std::string_view name) const;
  std::size_t Count(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

// Compares ASCII letters only, for header names, tokens and hosts.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// Returns true if a comma-separated list (Connection, Accept) has an item that starts with `token`,
// ignoring parameters.
bool HasToken(std::string_view list, std::string_view token);

// Returns true if the value may be sent: it has no control character, so it cannot start another
// field.
bool IsFieldValue(std::string_view value);

}  // namespace caisson::net
