#include "protocol/rest/run_request.h"

#include <array>
#include <charconv>
#include <utility>

#include "wire/json.h"
#include "wire/value.h"

namespace caisson::rest {
namespace {

constexpr std::size_t kMaxReasonBytes = 4096;

Error Bad(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}

Result<Dict> ParseObject(std::string_view body) {
  auto value = ParseJson(body);
  if (!value) return std::move(value).error().Context("the body is not JSON");
  if (auto* dict = std::get_if<Dict>(&value->variant())) return std::move(*dict);
  return Bad("the body must be a JSON object");
}

Result<std::string> Text(std::string_view name, const Value& value) {
  if (const auto* text = value.If<std::string>()) return *text;
  return Bad("\"" + std::string(name) + "\" must be a string");
}

Result<bool> YesOrNo(std::string_view name, const Value& value) {
  const bool* yes = value.If<bool>();
  if (yes == nullptr) return Bad("\"" + std::string(name) + "\" must be true or false");
  return *yes;
}

// Returns the text for SetLimit. Anything but a number becomes "", which SetLimit refuses with the
// name.
std::string NumberText(const Value& value) {
  if (const auto* whole = value.If<std::int64_t>()) return std::to_string(*whole);
  std::array<char, 512> digits;
  const auto* real = value.If<double>();
  if (real == nullptr) return {};
  const auto end = std::to_chars(digits.begin(), digits.end(), *real, std::chars_format::fixed);
  return end.ec == std::errc() ? std::string(digits.begin(), end.ptr) : std::string();
}

Result<Limits> ReadLimits(const Value& value, Limits limits) {
  const auto* named = value.If<Dict>();
  if (named == nullptr) return Bad("\"limits\" must be an object");
  for (const auto& [name, number] : named->items) {
    TRY(SetLimit(limits, *name.If<std::string>(), NumberText(number)));
  }
  return limits;
}

Result<void> ReadField(std::string_view name, const Value& value, const Limits& usual,
                       RunBody& request) {
  if (name == "code") {
    TRY_ASSIGN(request.start.code, Text(name, value));
  } else if (name == "session") {
    TRY_ASSIGN(request.start.session, Text(name, value));
  } else if (name == "limits") {
    TRY_ASSIGN(request.start.limits, ReadLimits(value, usual));
  } else if (name == "wait") {
    TRY_ASSIGN(const bool wait, YesOrNo(name, value));
    request.wait = wait ? Wait::kUntilItStops : Wait::kNotAtAll;
  } else if (name == "restart") {
    TRY_ASSIGN(const bool restart, YesOrNo(name, value));
    request.start.restart = restart ? Restart::kIfLost : Restart::kNo;
  } else if (name == "fork_of") {
    TRY_ASSIGN(request.start.fork_of, Text(name, value));
  } else {
    return Bad("\"" + std::string(name) +
               "\" is not known; a run has \"code\", \"session\", \"restart\", \"fork_of\", "
               "\"limits\" and \"wait\"");
  }
  return {};
}

// Returns the one of two values that has this name.
template <typename T>
Result<T> Choice(std::string_view name, const Value& value,
                 std::array<std::pair<std::string_view, T>, 2> choices) {
  const auto* text = value.If<std::string>();
  for (const auto& [word, choice] : choices) {
    if (text != nullptr && *text == word) return choice;
  }
  return Bad("\"" + std::string(name) + "\" must be \"" + std::string(choices[0].first) +
             "\" or \"" + std::string(choices[1].first) + "\"");
}

Result<StandingYes> ReadStanding(const Value& value) {
  using enum StandingYes::Scope;
  using enum StandingYes::Arguments;
  const auto* fields = value.If<Dict>();
  if (fields == nullptr || fields->Find("scope") == nullptr) {
    return Bad("\"standing\" must be an object with a \"scope\"");
  }
  StandingYes standing;
  for (const auto& [key, field] : fields->items) {
    const std::string& name = *key.If<std::string>();
    if (name == "scope") {
      TRY_ASSIGN(standing.scope, Choice<StandingYes::Scope>(
                                     name, field, {{{"session", kSession}, {"always", kAlways}}}));
    } else if (name == "arguments") {
      TRY_ASSIGN(standing.arguments,
                 Choice<StandingYes::Arguments>(name, field, {{{"these", kThese}, {"any", kAny}}}));
    } else {
      return Bad("\"" + name + "\" is not known; \"standing\" has \"scope\" and \"arguments\"");
    }
  }
  return standing;
}

}  // namespace

Result<RunBody> ParseRunBody(std::string_view body, const Limits& usual) {
  TRY_ASSIGN(const Dict fields, ParseObject(body));
  if (fields.Find("code") == nullptr) return Bad("\"code\" is missing");
  RunBody request;
  for (const auto& [name, value] : fields.items) {
    TRY(ReadField(*name.If<std::string>(), value, usual, request));
  }
  TRY(CheckSession(request.start));
  return request;
}

Result<Answer> ParseAnswer(std::string_view body) {
  TRY_ASSIGN(const Dict fields, ParseObject(body));
  Answer answer;
  bool decided = false;
  for (const auto& [key, value] : fields.items) {
    const std::string& name = *key.If<std::string>();
    if (name == "decision") {
      TRY_ASSIGN(answer.verdict, Choice<ApprovalState>(name, value,
                                                       {{{"approve", ApprovalState::kApproved},
                                                         {"deny", ApprovalState::kDenied}}}));
      decided = true;
    } else if (name == "reason") {
      TRY_ASSIGN(answer.reason, Text(name, value));
    } else if (name == "standing") {
      TRY_ASSIGN(answer.standing, ReadStanding(value));
    } else if (name == "arguments") {
      const auto* changes = value.If<Dict>();
      if (changes == nullptr) return Bad("\"arguments\" must be an object");
      answer.changes = *changes;
    } else {
      return Bad("\"" + name +
                 "\" is not known; there are \"decision\", \"reason\", \"arguments\" and "
                 "\"standing\"");
    }
  }
  if (!decided) return Bad("\"decision\" must be \"approve\" or \"deny\"");
  if (answer.reason.size() > kMaxReasonBytes) return Bad("\"reason\" is too long");
  return answer;
}

}  // namespace caisson::rest
