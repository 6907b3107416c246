// A MessageType is the type of the messages that an executor accepts or sends: a word such as
// "string", or a JSON Schema.
//
//   MessageType number = *MessageType::FromSchema(Value("number"));
//   number.Check(Value("x"));             // "expected number, got string"
//
// Trust     Messages are hostile content: cells, models and people write them.
// Threads   Immutable.
// Lifetime  Copies share the compiled schema.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "tools/schema.h"
#include "wire/value.h"

namespace caisson {

class MessageType {
 public:
  MessageType() = default;  // Any JSON value.

  // `schema` is a word ("any", "string", "integer", "number", "boolean", "array", "object",
  // "null"), or a JSON Schema. Fails with kInvalidArgument.
  static Result<MessageType> FromSchema(const Value& schema);

  // Returns what is wrong with the message; nullopt: nothing.
  std::optional<std::string> Check(const Value& message) const;

  // Returns false if no message can be of both types. Only the `type` keywords are compared, so
  // true is no promise: messages are checked again when they arrive.
  bool Overlaps(const MessageType& other) const;

  // Returns "string", "integer or null", or "any".
  std::string Name() const;
  // Returns the JSON Schema: an empty one for any value.
  Value document() const { return schema_ ? schema_->document() : Value(Dict{}); }

 private:
  std::set<std::string> types_{};  // Of the keyword `type`; empty: not restricted.
  std::optional<Schema> schema_{};
};

}  // namespace caisson
