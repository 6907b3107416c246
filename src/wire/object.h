// Short forms to write and read JSON objects.
//
//   Dict person = Object({{"name", "Ann"}, {"age", 7}});
//   const std::string* name = FindAs<std::string>(person, "name");      // null unless it is a str
//
// Trust     Data that was read stays as hostile as it was.
// Threads   Pure functions.
// Lifetime  A pointer is valid until its object changes.
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
