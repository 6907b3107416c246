// A GrantPattern says which later calls a standing yes covers.
//
// It names one definition of a tool: if that changes, the grant covers nothing any more, however the new one is called.
//
// Trust     Made from what a person decided; the calls it is held against are hostile. Where it cannot tell, it does
//           not cover.
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
  std::optional<CallSession> session{};           // Only while this session lasts.
  std::optional<std::string> arguments_digest{};  // Only with exactly these.
  std::optional<Value> schema{};                  // Only with arguments that fit this JSON Schema.
};

// As the store keeps it. kInvalidArgument: there is a schema, and it is none.
Result<std::string> Encode(const GrantPattern& pattern);
Result<GrantPattern> ParseGrantPattern(std::string_view text);

// One call, as a pattern sees it.
struct GrantedCall {
  std::string_view tool_digest;
  const std::optional<CallSession>& session;
  std::string_view arguments_digest;
  std::optional<Dict> arguments{};  // Needed for patterns with a schema.
};
bool Covers(const GrantPattern& pattern, const GrantedCall& call);

}  // namespace caisson
