// A FieldReader reads the members of one JSON object of a request and remembers the first mistake
// with its place: "input[3].content[0].text".
//
// Trust     The object is hostile.
// Threads   One.
// Lifetime  The object and the refusal outlive it. Returned pointers point into the object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/responses/api_error.h"
#include "wire/object.h"
#include "wire/value.h"

namespace caisson::responses {

class FieldReader {
 public:
  // `place`: where the object stands; empty for the body.
  FieldReader(const Dict& object, std::string place, ApiError& refusal)
      : object_(&object), place_(std::move(place)), refusal_(&refusal) {}

  // Fails if `value` is no object.
  static Result<FieldReader> Open(const Value& value, std::string place, ApiError& refusal);

  const Dict& object() const { return *object_; }
  const std::string& place() const { return place_; }
  std::string PlaceOf(std::string_view name) const;
  ApiError& refusal() const { return *refusal_; }

  // Records the mistake. The result only ends the reading.
  Error Refuse(std::string_view name, std::string message,
               std::string_view code = "invalid_value") const;

  // Null: the member is missing or null.
  const Value* Find(std::string_view name) const;
  Result<const std::string*> Text(std::string_view name) const;
  Result<std::string> TextOr(std::string_view name, std::string_view otherwise) const;
  Result<std::string> RequiredText(std::string_view name) const;
  Result<std::string> RequiredId(std::string_view name) const;
  Result<std::optional<bool>> Flag(std::string_view name) const;
  Result<std::optional<std::uint64_t>> Count(std::string_view name, std::uint64_t least) const;
  Result<std::optional<double>> Number(std::string_view name, double least, double most) const;
  Result<const std::vector<Value>*> Array(std::string_view name, std::size_t most) const;

 private:
  const Dict* object_;
  std::string place_;
  ApiError* refusal_;
};

// "input" and 3 become "input[3]".
std::string ElementPlace(std::string_view array, std::size_t index);

}  // namespace caisson::responses
