#include "approval/grant_pattern.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/schema.h"
#include "wire/canonical_json.h"

namespace caisson {
namespace {

constexpr std::string_view kTool = "tool_digest";
constexpr std::string_view kSession = "session";  // The session's name, for people.
constexpr std::string_view kSessionId = "session_id";
constexpr std::string_view kArguments = "arguments_digest";
constexpr std::string_view kSchema = "schema";

Error NoPattern() {
  return Error(ErrorCode::kInvalidArgument, "the grant's pattern is damaged");
}

Result<std::optional<std::string>> TextAt(const Dict& dict, std::string_view key) {
  const Value* value = dict.Find(key);
  if (value == nullptr) return std::optional<std::string>();
  const auto* text = value->If<std::string>();
  if (text == nullptr) return NoPattern();
  return std::optional(*text);
}

}  // namespace

Result<std::string> Encode(const GrantPattern& pattern) {
  if (pattern.schema) TRY(Schema::Compile(*pattern.schema));
  Dict dict;
  const auto put = [&](std::string_view key, Value value) {
    dict.items.emplace_back(std::string(key), std::move(value));
  };
  put(kTool, pattern.tool_digest);
  if (pattern.session) {
    put(kSession, pattern.session->name);
    put(kSessionId, pattern.session->id.str());
  }
  if (pattern.arguments_digest) put(kArguments, *pattern.arguments_digest);
  if (pattern.schema) put(kSchema, *pattern.schema);
  return CanonicalJson(dict);
}

Result<GrantPattern> ParseGrantPattern(std::string_view text) {
  TRY_ASSIGN(const Value value, ParseCanonicalJson(text));
  const auto* dict = value.If<Dict>();
  if (dict == nullptr) return NoPattern();
  // An unknown condition must not be ignored.
  const std::array known = {kTool, kSession, kSessionId, kArguments, kSchema};
  for (const auto& [key, content] : dict->items) {
    const auto* name = key.If<std::string>();
    if (name == nullptr || std::ranges::find(known, *name) == known.end()) return NoPattern();
  }
  GrantPattern pattern;
  TRY_ASSIGN(const auto tool_digest, TextAt(*dict, kTool));
  if (!tool_digest) return NoPattern();
  pattern.tool_digest = *tool_digest;
  TRY_ASSIGN(const auto session, TextAt(*dict, kSession));
  TRY_ASSIGN(const auto session_id, TextAt(*dict, kSessionId));
  // A name alone could match a later session.
  if (session.has_value() != session_id.has_value()) return NoPattern();
  if (session) pattern.session = CallSession{*session, SessionId(*session_id)};
  TRY_ASSIGN(pattern.arguments_digest, TextAt(*dict, kArguments));
  if (const Value* schema = dict->Find(kSchema)) pattern.schema = *schema;
  return pattern;
}

bool Covers(const GrantPattern& pattern, const GrantedCall& call) {
  if (pattern.tool_digest != call.tool_digest) return false;
  if (pattern.session && (pattern.session->id.str().empty() || pattern.session != call.session)) {
    return false;
  }
  if (pattern.arguments_digest && *pattern.arguments_digest != call.arguments_digest) return false;
  if (!pattern.schema) return true;
  if (!call.arguments) return false;
  const auto schema = Schema::Compile(*pattern.schema);
  return schema && schema->Fits(Value(*call.arguments)).value_or(false);
}

}  // namespace caisson
