// The template of a tool step's arguments: JSON in which references stand for parts of the message
// or of the shared state.
//
//   {"to": "ann", "text": {"$message": "/summary"}, "total": {"$state": "/total"}}
//
// A reference is an object with the one key "$message" or "$state" and a JSON Pointer (RFC 6901);
// "" is the whole.
//
// Trust     The template is the operator's. Messages and state are data and are only copied.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

// Fails with kInvalidArgument if the template is no object or has a reference that cannot be read.
Result<void> CheckTemplate(const Value& arguments);

// Fails with kInvalidArgument if a part that is referred to does not exist.
Result<Value> FillTemplate(const Value& arguments, const Value& message, const Dict& state);

}  // namespace caisson
