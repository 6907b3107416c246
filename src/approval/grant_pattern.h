// A GrantPattern describes the later calls that a grant covers.
//
// It names one definition of a tool. If the definition changes, the grant covers nothing any more,
// even under the same name.
//
// Trust     Made from a person's decision; the calls to match are hostile. If in doubt, it does not
//           match.
// Threads   Values and pure functions.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "approval/binding.h"
#include "base/result.h"
#include "wire/value.h"

namespace caisson {

struct GrantPattern {
  std::string tool_digest;
  std::optional<CallSession> session{};           // Only during this session.
  std::optional<std::string> arguments_digest{};  // Only with exactly these.
  std::optional<Value> schema{};                  // Only with arguments that fit this JSON Schema.
};

// Returns the stored form. Fails with kInvalidArgument if the schema is not valid.
Result<std::string> Encode(const GrantPattern& pattern);
Result<GrantPattern> ParseGrantPattern(std::string_view text);

// One call, as matched by a pattern.
struct GrantedCall {
  std::string_view tool_digest;
  const std::optional<CallSession>& session;
  std::string_view arguments_digest;
  std::optional<Dict> arguments{};  // Needed for patterns with a schema.
};
bool Covers(const GrantPattern& pattern, const GrantedCall& call);

}  // namespace caisson
