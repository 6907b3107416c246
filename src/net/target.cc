#include "net/target.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/utf8.h"

namespace caisson::net {
namespace {

Error Bad(std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, "the request target " + std::string(what));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

enum class Plus { kIsPlus, kIsSpace };

Result<std::string> Decoded(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
      if (low < 0) return Bad("has a % that is not followed by two hexadecimal digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus == Plus::kIsSpace) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return Bad("has a control character");
    out.push_back(c);
  }
  if (!IsUtf8(out)) return Bad("is not UTF-8");
  return out;
}

Result<std::vector<std::string>> Segments(std::string_view path) {
  std::vector<std::string> segments;
  if (path == "/") return segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // The slash.
    const std::string_view raw = path.substr(0, path.find('/'));
    path.remove_prefix(raw.size());
    TRY_ASSIGN(std::string segment, Decoded(raw, Plus::kIsPlus));
    if (segment.empty()) return Bad("has an empty segment");
    if (segment == "." || segment == "..") return Bad("has a dot segment");
    segments.push_back(std::move(segment));
  }
  return segments;
}

Result<Query> Pairs(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    TRY_ASSIGN(std::string name, Decoded(pair.substr(0, equals), Plus::kIsSpace));
    TRY_ASSIGN(std::string value,
               Decoded(pair.substr(std::min(equals + 1, pair.size())), Plus::kIsSpace));
    query.emplace_back(std::move(name), std::move(value));
  }
  return query;
}

}  // namespace

Result<Target> ParseTarget(std::string_view text) {
  if (!text.starts_with('/')) return Bad("must begin with a slash");
  if (text.find('#') != text.npos) return Bad("has a fragment");
  const std::size_t question = std::min(text.find('?'), text.size());
  TRY_ASSIGN(std::vector<std::string> segments, Segments(text.substr(0, question)));
  TRY_ASSIGN(Query query, Pairs(text.substr(std::min(question + 1, text.size()))));
  return Target{.segments = std::move(segments), .query = std::move(query)};
}

}  // namespace caisson::net
