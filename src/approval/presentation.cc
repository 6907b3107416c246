#include "approval/presentation.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "approval/binding.h"
#include "base/rfc3339.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "wire/canonical_json.h"

namespace caisson {
namespace {

// Returns the size of a unit of JSON text that must not be split: a character or an escape.
std::size_t UnitSize(std::string_view text) {
  if (text.front() != '\\') return std::max<std::size_t>(CharacterSize(text), 1);
  return text.size() > 1 && text[1] == 'u' ? 6 : 2;
}

// Returns the end of the last unit within the first `most` bytes.
std::size_t EndWithin(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t size = UnitSize(text.substr(at));
    if (at + size > most) break;
    at += size;
  }
  return at;
}

ShownArgument Show(std::string_view name, std::string_view value, std::size_t shown_bytes) {
  ShownArgument shown{.name = SpellOutDeceptive(name), .value = {}, .bytes = value.size()};
  if (value.size() <= shown_bytes) {
    shown.value = SpellOutDeceptive(value);
    return shown;
  }
  const std::size_t front = EndWithin(value, shown_bytes / 2);
  const std::size_t back = EndWithin(value, value.size() - shown_bytes / 2);
  shown.value = SpellOutDeceptive(value.substr(0, front));
  shown.end = SpellOutDeceptive(value.substr(back));
  shown.left_out_bytes = back - front;
  shown.sha256 = ToHex(Sha256(value));
  return shown;
}

// Appends a member to an object.
void Put(std::string_view key, const Value& value, std::string& object) {
  const auto json = ToJson(value);
  object.append(object.empty() ? "{\"" : ",\"").append(key).append("\":");
  object += json ? SpellOutDeceptive(*json) : "null";
}

std::string EditedJson(const EditedArguments& edited) {
  const bool hashed = ParseArguments(edited.text, edited.digest).has_value();
  return hashed ? SpellOutDeceptive(edited.text) : "null";
}

Value DecisionFields(const std::optional<Decision>& decision) {
  if (!decision) return Value();
  return Value(Dict{{{"verdict", std::string(ToString(decision->verdict))},
                     {"by", decision->by},
                     {"reason", decision->reason},
                     {"at", ToRfc3339(decision->at)}}});
}

}  // namespace

Result<Presentation> Present(const NewApproval& asked, std::size_t shown_bytes) {
  TRY_ASSIGN(const Dict arguments, ParseArguments(asked.arguments, asked.binding.arguments_digest));
  Presentation presentation{.arguments = {}, .whole = SpellOutDeceptive(asked.arguments)};
  for (const auto& [name, value] : arguments.items) {
    TRY_ASSIGN(const std::string name_text, CanonicalJson(name));
    TRY_ASSIGN(const std::string value_text, CanonicalJson(value));
    presentation.arguments.push_back(Show(name_text, value_text, shown_bytes));
  }
  return presentation;
}

std::string ToText(const Presentation& presentation) {
  std::string text;
  for (const ShownArgument& argument : presentation.arguments) {
    if (!argument.sha256) {
      text += argument.name + ": " + argument.value + "\n";
      continue;
    }
    text += argument.name + ": " + std::to_string(argument.bytes) + " bytes, SHA-256 " +
            *argument.sha256 + "\n  begins " + argument.value + "\n  ends   " + argument.end + "\n";
  }
  return text;
}

std::string ToJson(const StoredApproval& approval) {
  const NewApproval& asked = approval.asked;
  const bool omitted = approval.arguments_omitted;
  std::optional<Error> problem;
  if (!omitted) {
    auto hashed = ParseArguments(asked.arguments, asked.binding.arguments_digest);
    if (!hashed) problem = std::move(hashed).error();
  }
  std::string object;
  Put("id", asked.id.str(), object);
  Put("run_id", asked.binding.run.str(), object);
  Put("seq", std::int64_t{asked.binding.seq}, object);
  Put("tool", asked.binding.tool, object);
  object += ",\"arguments\":";
  object += omitted || problem ? "null" : SpellOutDeceptive(asked.arguments);
  if (omitted) Put("arguments_omitted", true, object);
  if (problem) Put("problem", problem->message(), object);
  Put("arguments_sha256", asked.binding.arguments_digest, object);
  Put("state", std::string(ToString(approval.state)), object);
  Put("created_at", ToRfc3339(asked.created_at), object);
  Put("expires_at", ToRfc3339(asked.expires_at), object);
  Put("session", asked.session ? Value(asked.session->name) : Value(), object);
  Put("decision", DecisionFields(approval.decision), object);
  if (approval.decision && approval.decision->edited) {
    const EditedArguments& edited = *approval.decision->edited;
    object += ",\"edited_arguments\":" + EditedJson(edited);
    Put("edited_arguments_sha256", edited.digest, object);
  }
  return object + "}";
}

std::string ToJson(const Grant& grant) {
  std::string object;
  Put("id", grant.id.str(), object);
  Put("tool", grant.tool, object);
  Put("scope", grant.scope, object);
  Put("pattern", grant.pattern, object);
  Put("granted_by", grant.granted_by, object);
  Put("granted_at", ToRfc3339(grant.granted_at), object);
  return object + "}";
}

}  // namespace caisson
