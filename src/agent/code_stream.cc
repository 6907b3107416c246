#include "agent/code_stream.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace caisson {
namespace {

constexpr std::string_view kKey = "\"code\"";

// Appends the code point as UTF-8.
void AppendUtf8(std::uint32_t point, std::string& text) {
  const auto add = [&text](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xC0 | point >> 6);
  } else if (point < 0x10000) {
    add(0xE0 | point >> 12);
    add(0x80 | (point >> 6 & 0x3F));
  } else {
    add(0xF0 | point >> 18);
    add(0x80 | (point >> 12 & 0x3F));
    add(0x80 | (point >> 6 & 0x3F));
  }
  add(0x80 | (point & 0x3F));
}

// Reads \uXXXX at `at`.
std::optional<std::uint32_t> ReadUnit(std::string_view text, std::size_t at) {
  if (text.size() < at + 6 || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  std::uint32_t unit = 0;
  const char* const begin = text.data() + at + 2;
  const auto [end, failed] = std::from_chars(begin, begin + 4, unit, 16);
  if (failed != std::errc() || end != begin + 4) return std::nullopt;
  return unit;
}

}  // namespace

void CodeStream::FindBegin(std::string_view arguments) {
  std::size_t at = 0;
  const auto skip = [&] {
    while (at < arguments.size() && std::string_view(" \t\r\n").contains(arguments[at])) ++at;
  };
  // Returns whether `token` is there. If it cannot come any more, there is nothing to follow.
  const auto take = [&](std::string_view token) {
    skip();
    const std::string_view rest = arguments.substr(at);
    if (rest.starts_with(token)) {
      at += token.size();
      return true;
    }
    if (!token.starts_with(rest)) place_ = Place::kOver;
    return false;
  };
  if (!take("{") || !take(kKey) || !take(":") || !take("\"")) return;
  place_ = Place::kInside;
  next_ = at;
}

bool CodeStream::ReadEscape(std::string_view arguments, std::string& code) {
  constexpr std::string_view kMarks = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  if (next_ + 1 >= arguments.size()) return false;
  const std::size_t mark = kMarks.find(arguments[next_ + 1]);
  if (mark != kMarks.npos) {
    code.push_back(kMeant[mark]);
    next_ += 2;
    return true;
  }
  if (arguments[next_ + 1] == 'u' && next_ + 6 > arguments.size()) return false;
  const auto unit = ReadUnit(arguments, next_);
  const bool is_low = unit && *unit >= 0xDC00 && *unit < 0xE000;
  if (!unit || is_low) {
    place_ = Place::kOver;  // Not JSON, or a lone surrogate.
    return false;
  }
  if (*unit < 0xD800 || *unit >= 0xE000) {
    AppendUtf8(*unit, code);
    next_ += 6;
    return true;
  }
  if (next_ + 12 > arguments.size()) return false;
  const auto low = ReadUnit(arguments, next_ + 6);
  if (!low || *low < 0xDC00 || *low >= 0xE000) {
    place_ = Place::kOver;
    return false;
  }
  AppendUtf8(0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), code);
  next_ += 12;
  return true;
}

std::string CodeStream::Read(std::string_view arguments) {
  std::string code;
  if (place_ == Place::kBefore) FindBegin(arguments);
  while (place_ == Place::kInside && next_ < arguments.size()) {
    const char c = arguments[next_];
    if (c == '"') {
      place_ = Place::kOver;
    } else if (c == '\\') {
      if (!ReadEscape(arguments, code)) break;
    } else {
      code.push_back(c);
      ++next_;
    }
  }
  return code;
}

}  // namespace caisson
