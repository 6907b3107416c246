#include "protocol/responses/field_reader.h"

#include <utility>

#include "protocol/responses/wire_id.h"

namespace caisson::responses {

std::string ElementPlace(std::string_view array, std::size_t index) {
  return std::string(array) + "[" + std::to_string(index) + "]";
}

Result<FieldReader> FieldReader::Open(const Value& value, std::string place, ApiError& refusal) {
  if (const auto* object = value.If<Dict>()) return FieldReader(*object, std::move(place), refusal);
  refusal = InvalidValue(place, "'" + place + "' must be an object.");
  return Error(ErrorCode::kInvalidArgument, refusal.message);
}

std::string FieldReader::PlaceOf(std::string_view name) const {
  return place_.empty() ? std::string(name) : place_ + "." + std::string(name);
}

Error FieldReader::Refuse(std::string_view name, std::string message, std::string_view code) const {
  *refusal_ = InvalidValue(PlaceOf(name), std::move(message));
  refusal_->code = code;
  return Error(ErrorCode::kInvalidArgument, refusal_->message);
}

const Value* FieldReader::Find(std::string_view name) const {
  const Value* value = object_->Find(name);
  return value == nullptr || value->is_none() ? nullptr : value;
}

Result<const std::string*> FieldReader::Text(std::string_view name) const {
  const Value* value = Find(name);
  if (value == nullptr) return static_cast<const std::string*>(nullptr);
  if (const auto* text = value->If<std::string>()) return text;
  return Refuse(name, "'" + PlaceOf(name) + "' must be a string.", "invalid_type");
}

Result<std::string> FieldReader::TextOr(std::string_view name, std::string_view otherwise) const {
  TRY_ASSIGN(const std::string* text, Text(name));
  return text == nullptr ? std::string(otherwise) : *text;
}

Result<std::string> FieldReader::RequiredText(std::string_view name) const {
  TRY_ASSIGN(const std::string* text, Text(name));
  if (text != nullptr) return *text;
  return Refuse(name, "Missing required parameter: '" + PlaceOf(name) + "'.",
                "missing_required_parameter");
}

Result<std::string> FieldReader::RequiredId(std::string_view name) const {
  TRY_ASSIGN(std::string id, RequiredText(name));
  if (IsWireId(id)) return id;
  return Refuse(name, "'" + PlaceOf(name) + "' must be an id: 1 to 128 letters, digits, '_', '-'.");
}

Result<std::optional<bool>> FieldReader::Flag(std::string_view name) const {
  const Value* value = Find(name);
  if (value == nullptr) return std::optional<bool>();
  if (const auto* flag = value->If<bool>()) return std::optional(*flag);
  return Refuse(name, "'" + PlaceOf(name) + "' must be true or false.", "invalid_type");
}

Result<std::optional<std::uint64_t>> FieldReader::Count(std::string_view name,
                                                        std::uint64_t least) const {
  const Value* value = Find(name);
  if (value == nullptr) return std::optional<std::uint64_t>();
  const auto* number = value->If<std::int64_t>();
  if (number != nullptr && *number >= 0 && static_cast<std::uint64_t>(*number) >= least) {
    return std::optional(static_cast<std::uint64_t>(*number));
  }
  return Refuse(name, "'" + PlaceOf(name) + "' must be an integer of at least " +
                          std::to_string(least) + ".");
}

Result<std::optional<double>> FieldReader::Number(std::string_view name, double least,
                                                  double most) const {
  const Value* value = Find(name);
  if (value == nullptr) return std::optional<double>();
  std::optional<double> number;
  if (const auto* whole = value->If<std::int64_t>()) number = static_cast<double>(*whole);
  if (const auto* real = value->If<double>()) number = *real;
  if (number && *number >= least && *number <= most) return number;
  return Refuse(name, "'" + PlaceOf(name) + "' must be a number from " +
                          std::to_string(static_cast<int>(least)) + " to " +
                          std::to_string(static_cast<int>(most)) + ".");
}

Result<const std::vector<Value>*> FieldReader::Array(std::string_view name,
                                                     std::size_t most) const {
  const Value* value = Find(name);
  if (value == nullptr) return static_cast<const std::vector<Value>*>(nullptr);
  const auto* list = value->If<List>();
  if (list == nullptr)
    return Refuse(name, "'" + PlaceOf(name) + "' must be an array.", "invalid_type");
  if (list->items.size() <= most) return &list->items;
  return Refuse(name, "'" + PlaceOf(name) + "' has " + std::to_string(list->items.size()) +
                          " elements; at most " + std::to_string(most) + " are allowed.");
}

}  // namespace caisson::responses
