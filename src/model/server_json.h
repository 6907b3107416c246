// Reads JSON as servers of models really send it.
//
// Trust     The text is a server's. It is bounded by the caller.
// Threads   Pure functions.
// Lifetime  Pointers are valid until their object changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/object.h"
#include "wire/value.h"

namespace caisson::model {

// Reads an object. Invalid UTF-8 and lone surrogates become U+FFFD: servers cut texts in the middle
// of a character. Fails with kUnavailable if the text is no JSON object.
Result<Dict> ReadServerObject(std::string_view text);

// Fields of an object. A missing field, null, or a field of another type is empty, null or 0.
// Counts are at most 2^40.
std::string_view TextAt(const Dict& object, std::string_view key);
const Dict* ObjectAt(const Dict& object, std::string_view key);
const List* ListAt(const Dict& object, std::string_view key);
std::uint64_t CountAt(const Dict& object, std::string_view key);
// The same for an object that may be null.
std::uint64_t CountAt(const Dict* object, std::string_view key);

// Returns text that JSON can hold: invalid UTF-8 becomes U+FFFD.
std::string JsonText(std::string_view text);

}  // namespace caisson::model
