#include "model/server_error.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "base/visible.h"
#include "model/server_json.h"

namespace caisson::model {
namespace {

constexpr std::size_t kMaxShown = 500;
constexpr std::string_view kInstead = "[key]";
constexpr std::size_t kMinSecret = 4;  // A shorter one would be found in ordinary words.

// Returns the text on one line, shortened.
std::string OneLine(std::string_view text) {
  std::string out = ToUtf8(text);
  std::ranges::replace_if(out, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  out = SpellOutDeceptive(out);
  if (out.size() <= kMaxShown) return out;
  std::size_t end = kMaxShown;
  while ((static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;
  return out.substr(0, end) + "...";
}

// Returns the message of {"error": {"message": m}}, {"error": m}, {"message": m}, {"detail": m}.
std::string_view MessageIn(const Dict& object) {
  if (const Dict* error = ObjectAt(object, "error")) return TextAt(*error, "message");
  for (const std::string_view key : {"error", "message", "detail"}) {
    if (const auto text = TextAt(object, key); !text.empty()) return text;
  }
  return {};
}

ErrorCode CodeOf(std::string_view type) {
  struct Known {
    std::string_view part;
    ErrorCode code;
  };
  constexpr std::array kKnown = {
      Known{"rate_limit", ErrorCode::kResourceExhausted},
      Known{"quota", ErrorCode::kResourceExhausted},
      Known{"too_many_requests", ErrorCode::kResourceExhausted},
      Known{"invalid_api_key", ErrorCode::kPermissionDenied},
      Known{"authentication", ErrorCode::kPermissionDenied},
      Known{"permission", ErrorCode::kPermissionDenied},
      Known{"invalid", ErrorCode::kInvalidArgument},
      Known{"not_found", ErrorCode::kInvalidArgument},
      Known{"too_large", ErrorCode::kInvalidArgument},
      Known{"context_length", ErrorCode::kInvalidArgument},
  };
  for (const Known& known : kKnown) {
    if (type.find(known.part) != type.npos) return known.code;
  }
  return ErrorCode::kUnavailable;
}

ErrorCode CodeOf(int status) {
  if (status == 401 || status == 403) return ErrorCode::kPermissionDenied;
  if (status == 429) return ErrorCode::kResourceExhausted;
  const bool is_busy = status == 408 || status == 409;
  return status >= 400 && status < 500 && !is_busy ? ErrorCode::kInvalidArgument
                                                   : ErrorCode::kUnavailable;
}

std::string_view Advice(int status) {
  if (status >= 300 && status < 400) return "; it redirects: set base_url to the new address";
  if (status == 401 || status == 403) return "; check the key of this model";
  if (status == 404) return "; check model and base_url";
  if (status == 429) return "; it gets too many requests, or the quota is used up";
  return "";
}

}  // namespace

std::optional<Error> ReportedError(const Dict& object) {
  const Value* found = object.Find("error");
  const bool is_error = TextAt(object, "type") == "error";
  if ((found == nullptr || found->is_none()) && !is_error) return std::nullopt;
  const Dict* error = ObjectAt(object, "error");
  const Dict& inner = error == nullptr ? object : *error;
  std::string kind(TextAt(inner, "type"));
  kind.append(" ").append(TextAt(inner, "code"));
  ErrorCode code = CodeOf(kind);
  if (const std::uint64_t status = CountAt(inner, "code"); status >= 400 && status < 600) {
    code = CodeOf(static_cast<int>(status));
  }
  const std::string_view message = MessageIn(object);
  return Error(code, "the model server reports an error: " +
                         std::string(message.empty() ? "it has no message" : message));
}

Error StatusError(int status, std::string_view body) {
  std::string said;
  if (const auto object = ReadServerObject(body)) said = MessageIn(*object);
  if (said.empty()) said = body;
  std::string message = "the model server answers with status " + std::to_string(status);
  message.append(Advice(status));
  if (!said.empty()) message.append(": ").append(said);
  return Error(CodeOf(status), std::move(message));
}

Error Presentable(const Error& error, const std::vector<std::string>& secrets) {
  std::string message = error.message();
  for (const std::string& secret : secrets) {
    if (secret.size() < kMinSecret) continue;
    for (std::size_t at = message.find(secret); at != message.npos;
         at = message.find(secret, at + kInstead.size())) {
      message.replace(at, secret.size(), kInstead);
    }
  }
  return Error(error.code(), OneLine(message));
}

}  // namespace caisson::model
