// Fields reads a Dict that this program wrote: fields by name, of known types.
//
// Trust     A store may return anything. A missing field, or one of another type, makes good()
//           false.
// Threads   Values.
// Lifetime  Borrows the Dict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

class Fields {
 public:
  explicit Fields(const Dict& dict) : dict_(dict) {}

  template <typename T>
  T Get(std::string_view name) {
    const Value* value = dict_.Find(name);
    if (value != nullptr) {
      if (const T* got = value->If<T>()) return *got;
    }
    good_ = false;
    return T{};
  }
  // Returns nullopt if there is no such field.
  template <typename T>
  std::optional<T> GetOptional(std::string_view name) {
    if (dict_.Find(name) == nullptr) return std::nullopt;
    return Get<T>(name);
  }
  template <typename T>
  T Number(std::string_view name) {
    return static_cast<T>(Get<std::int64_t>(name));
  }

  bool good() const { return good_; }

 private:
  const Dict& dict_;
  bool good_ = true;
};

inline Error Unreadable(std::string_view what) {
  return Error(ErrorCode::kFailedPrecondition, "the " + std::string(what) + " cannot be read");
}

// Returns the dict that `bytes` encode. Its size is not limited, because a saved cell can be longer
// than any message.
inline Result<Dict> DecodeDict(std::string_view bytes, std::string_view what) {
  DecodeBudget budget(kAnyDecodedBytes);
  auto value = DecodeValue(bytes, budget);
  if (!value) return Unreadable(what);
  auto* dict = std::get_if<Dict>(&value->variant());
  if (dict == nullptr) return Unreadable(what);
  return std::move(*dict);
}

}  // namespace caisson
