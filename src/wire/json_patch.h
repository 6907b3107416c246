// JSON Patch (RFC 6902): applies a patch to a value, and finds the patch between two values.
//
//   Apply({{"op": "replace", "path": "/a/0", "value": 2}}, {"a": [1]})     {"a": [2]}
//
// Values are those of JSON: None, bool, int, float, str, List, and Dict with str keys.
//
// Trust     Patches are hostile: the number of operations, the depth and the size of the result are
//           bounded. A patch is applied as a whole or not at all.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

inline constexpr std::size_t kMaxPatchOperations = 1000;

// Parses a JSON Pointer (RFC 6901). Fails with kInvalidArgument.
Result<std::vector<std::string>> ParsePointer(std::string_view text);

// Returns the patched value. Fails with kInvalidArgument if the patch is not valid, a path does not
// exist, or a test fails; kResourceExhausted if the result takes more than `max_bytes` of memory.
Result<Value> ApplyPatch(Value document, const List& patch, std::size_t max_bytes);

// Returns a patch that turns `from` into `to`. Lists that differ in length are compared from the
// front. Applying the patch to `from` gives exactly `to`.
List MakePatch(const Value& from, const Value& to);

}  // namespace caisson
