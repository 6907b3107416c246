#include "model/server_json.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "wire/json.h"

namespace caisson::model {
namespace {

constexpr std::uint64_t kMaxCount = 1ull << 40;  // Sums of counts cannot overflow.

// Returns the number of an escape such as \ud83d at the start of `text`.
std::optional<unsigned> EscapedUnit(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  unsigned unit = 0;
  for (const char c : text.substr(2, 4)) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isxdigit(byte) == 0) return std::nullopt;
    const int digit = std::isdigit(byte) != 0 ? c - '0' : (c | 0x20) - 'a' + 10;
    unit = unit * 16 + static_cast<unsigned>(digit);
  }
  return unit;
}

bool IsHigh(unsigned unit) {
  return unit >= 0xd800 && unit < 0xdc00;
}
bool IsLow(unsigned unit) {
  return unit >= 0xdc00 && unit < 0xe000;
}

// Replaces escapes of surrogates that are not pairs.
std::string WithoutLoneSurrogates(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto unit = EscapedUnit(text);
    std::size_t size = text[0] == '\\' && text.size() > 1 ? 2 : 1;
    if (unit) {
      size = 6;
      const auto next = EscapedUnit(text.substr(6));
      if (IsHigh(*unit) && next && IsLow(*next)) {
        size = 12;
      } else if (IsHigh(*unit) || IsLow(*unit)) {
        out.append("\\ufffd");
        text.remove_prefix(size);
        continue;
      }
    }
    out.append(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

Result<Dict> ReadServerObject(std::string_view text) {
  const std::string repaired = IsUtf8(text) ? "" : ToUtf8(text);
  if (!repaired.empty()) text = repaired;
  auto value = ParseJson(text);
  if (!value && text.find("\\u") != text.npos) value = ParseJson(WithoutLoneSurrogates(text));
  if (!value) {
    const Error& error = value.error();
    if (error.code() == ErrorCode::kResourceExhausted) return error;
    return Error(ErrorCode::kUnavailable, "the model server sent invalid JSON: " + error.message());
  }
  auto* object = std::get_if<Dict>(&value->variant());
  if (object != nullptr) return std::move(*object);
  return Error(ErrorCode::kUnavailable, "the model server sent JSON that is not an object");
}

std::string_view TextAt(const Dict& object, std::string_view key) {
  const auto* text = FindAs<std::string>(object, key);
  return text == nullptr ? std::string_view() : *text;
}

const Dict* ObjectAt(const Dict& object, std::string_view key) {
  return FindAs<Dict>(object, key);
}
const List* ListAt(const Dict& object, std::string_view key) {
  return FindAs<List>(object, key);
}

std::uint64_t CountAt(const Dict& object, std::string_view key) {
  const auto* count = FindAs<std::int64_t>(object, key);
  if (count == nullptr || *count < 0) return 0;
  return std::min(static_cast<std::uint64_t>(*count), kMaxCount);
}
std::uint64_t CountAt(const Dict* object, std::string_view key) {
  return object == nullptr ? 0 : CountAt(*object, key);
}

std::string JsonText(std::string_view text) {
  return IsUtf8(text) ? std::string(text) : ToUtf8(text);
}

}  // namespace caisson::model
