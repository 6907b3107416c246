// Writing and reading JSON objects without ceremony.
//
//   Dict person = Object({{"name", "Ann"}, {"age", 7}});
//   const std::string* name = FindAs<std::string>(person, "name");      // null unless it is there and a str
//
// Trust     Whatever was read stays as hostile as it was.
// Threads   Pure functions.
// Lifetime  A pointer is good for as long as its object stays unchanged.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "wire/value.h"

namespace caisson {

inline Dict Object(std::initializer_list<std::pair<std::string_view, Value>> fields) {
  Dict object;
  object.items.reserve(fields.size());
  for (const auto& [key, value] : fields) object.items.emplace_back(std::string(key), value);
  return object;
}

// Precondition: the key is new.
inline void Append(Dict& object, std::string_view key, Value value) {
  object.items.emplace_back(std::string(key), std::move(value));
}

template <typename T>
const T* FindAs(const Dict& object, std::string_view key) {
  const Value* value = object.Find(key);
  return value == nullptr ? nullptr : value->If<T>();
}

}  // namespace caisson
