#include "wire/canonical_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "wire/json.h"

namespace caisson {
namespace {

Error Invalid(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

// UTF-8 sorts by code point. UTF-16 does the same, except that characters of two units (first byte
// F0 and above) come before U+E000..U+FFFF (first byte EE or EF).
std::uint8_t Utf16Rank(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return byte == 0xee || byte == 0xef ? static_cast<std::uint8_t>(byte + 0x10) : byte;
}

bool ComesBefore(std::string_view a, std::string_view b) {
  return std::ranges::lexicographical_compare(a, b, {}, Utf16Rank, Utf16Rank);
}

// ECMAScript's Number::toString: the shortest digits that read back as `number`. Precondition: it
// is finite.
std::string EcmaScriptNumber(double number) {
  constexpr int kMostDigitsInFront = 21;
  constexpr int kMostZerosBehind = 6;
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(number),
                                 std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 1) digits += text.substr(2, e - 2);
  int exponent = 0;
  const std::size_t exponent_start = text[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text.data() + exponent_start, text.data() + text.size(), exponent);

  const int point = exponent + 1;  // Position of the point, counted from the first digit.
  const int count = static_cast<int>(digits.size());
  std::string out = std::signbit(number) ? "-" : "";
  if (point > kMostDigitsInFront || point <= -kMostZerosBehind) {
    out += digits.substr(0, 1);
    if (count > 1) out += "." + digits.substr(1);
    out += exponent < 0 ? "e-" : "e+";
    return out + std::to_string(std::abs(exponent));
  }
  if (point <= 0) return out + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  if (point >= count)
    return out + digits + std::string(static_cast<std::size_t>(point - count), '0');
  return out + digits.insert(static_cast<std::size_t>(point), ".");
}

// Negates an int in place. Two's complement, least significant byte first.
void Negate(std::string& bytes) {
  unsigned carry = 1;
  for (char& c : bytes) {
    carry += static_cast<std::uint8_t>(~static_cast<std::uint8_t>(c));
    c = static_cast<char>(carry & 0xff);
    carry >>= 8;
  }
}

// Writes an int as Python's hex() does.
std::string ToHexadecimal(std::string bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const bool negative = (static_cast<std::uint8_t>(bytes.back()) & 0x80) != 0;
  if (negative) {
    bytes.push_back('\xff');  // Room for the sign.
    Negate(bytes);
  }
  std::string digits;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    digits += {kHex[byte >> 4], kHex[byte & 15]};
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return (negative ? "-0x" : "0x") + digits;
}

std::optional<BigInt> FromHexadecimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (!text.starts_with("0x") || text.size() < 3) return std::nullopt;
  text.remove_prefix(2);
  std::string bytes;
  while (!text.empty()) {
    const std::string_view pair = text.substr(text.size() - std::min<std::size_t>(text.size(), 2));
    std::uint8_t byte = 0;
    const auto parsed = std::from_chars(pair.data(), pair.data() + pair.size(), byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != pair.data() + pair.size()) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
    text.remove_suffix(pair.size());
  }
  bytes.push_back('\0');  // Room for the sign.
  if (negative) Negate(bytes);
  return BigInt{std::move(bytes)};
}

class Writer {
 public:
  std::string Finish() && { return std::move(out_); }

  Result<void> Put(const Value& value, int depth) {
    if (out_.size() > kMaxCanonicalBytes) return TooLong();
    return std::visit([&](const auto& v) { return PutOne(v, depth); }, value.variant());
  }

 private:
  using Entry = std::pair<Value, Value>;

  Result<void> PutRaw(std::string_view text) {
    out_.append(text);
    return {};
  }
  static Result<void> CheckDepth(int depth) {
    if (depth >= kMaxValueDepth) return Invalid("value is nested too deeply");
    return {};
  }

  Result<void> PutOne(std::monostate, int) { return PutRaw("null"); }
  Result<void> PutOne(bool value, int) { return PutRaw(value ? "true" : "false"); }
  Result<void> PutOne(std::int64_t value, int) { return PutRaw(std::to_string(value)); }

  Result<void> PutOne(const BigInt& value, int depth) {
    if (value.twos_complement.empty()) return Invalid("int without digits");
    if (auto digits = ToJson(Value(value))) {
      TRY(int_work_.Charge(digits->size()));
      return PutRaw(*digits);
    }
    return PutTagged("$int", Value(ToHexadecimal(value.twos_complement)), depth);
  }

  Result<void> PutOne(double value, int depth) {
    if (std::isnan(value)) return PutTagged("$float", Value("nan"), depth);
    if (std::isinf(value)) return PutTagged("$float", Value(value < 0 ? "-inf" : "inf"), depth);
    const std::string text = EcmaScriptNumber(value);
    out_ += text;
    if (text.find_first_of(".e") == text.npos) out_ += ".0";
    return {};
  }

  Result<void> PutOne(const std::string& text, int) {
    if (!IsUtf8(text)) return Invalid("a str is not UTF-8");
    out_ += '"';
    for (const char c : text) {
      PutCharacter(c);
      if (out_.size() > kMaxCanonicalBytes) return TooLong();
    }
    out_ += '"';
    return {};
  }

  static Error TooLong() {
    return Error(ErrorCode::kResourceExhausted, "its canonical text has more than " +
                                                    std::to_string(kMaxCanonicalBytes) +
                                                    " bytes; send it in parts");
  }

  void PutCharacter(char c) {
    constexpr std::string_view kShort = "\"\\\b\t\n\f\r";
    constexpr std::string_view kLetters = "\"\\btnfr";
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto byte = static_cast<std::uint8_t>(c);
    if (const std::size_t which = kShort.find(c); which != kShort.npos) {
      out_ += '\\';
      out_ += kLetters[which];
    } else if (byte < 0x20) {
      out_ += "\\u00";
      out_ += kHex[byte >> 4];
      out_ += kHex[byte & 15];
    } else {
      out_ += c;
    }
  }

  Result<void> PutOne(const Bytes& bytes, int depth) {
    return PutTagged("$bytes", Value(EncodeBase64Url(bytes.data)), depth);
  }
  Result<void> PutOne(const Tuple& tuple, int depth) {
    TRY(CheckDepth(depth));
    out_ += "{\"$tuple\":";
    TRY(PutItems(tuple.items, depth + 1));
    return PutRaw("}");
  }
  Result<void> PutOne(const List& list, int depth) { return PutItems(list.items, depth); }

  Result<void> PutTagged(std::string_view tag, const Value& content, int depth) {
    TRY(CheckDepth(depth));
    out_.append("{\"").append(tag).append("\":");
    TRY(Put(content, depth + 1));
    return PutRaw("}");
  }

  Result<void> PutItems(const std::vector<Value>& items, int depth) {
    TRY(CheckDepth(depth));
    out_ += '[';
    for (const Value& item : items) {
      if (&item != items.data()) out_ += ',';
      TRY(Put(item, depth + 1));
    }
    return PutRaw("]");
  }

  Result<void> PutOne(const Dict& dict, int depth) {
    TRY(CheckDepth(depth));
    return IsPlain(dict) ? PutObject(dict, depth) : PutEntries(dict, depth);
  }

  // Returns true if a JSON object can hold the dict and does not look like one of our marks.
  static bool IsPlain(const Dict& dict) {
    const auto is_text = [](const Entry& entry) {
      return entry.first.If<std::string>() != nullptr;
    };
    if (!std::ranges::all_of(dict.items, is_text)) return false;
    return dict.items.size() != 1 || !dict.items[0].first.If<std::string>()->starts_with('$');
  }

  Result<void> PutObject(const Dict& dict, int depth) {
    const auto name = [](const Entry* entry) -> const std::string& {
      return *entry->first.If<std::string>();
    };
    std::vector<const Entry*> entries;
    for (const Entry& entry : dict.items) entries.push_back(&entry);
    std::ranges::sort(entries, ComesBefore, name);
    if (std::ranges::adjacent_find(entries, {}, name) != entries.end()) {
      return Invalid("dict has a key twice");
    }
    out_ += '{';
    for (const Entry* entry : entries) {
      if (entry != entries.front()) out_ += ',';
      TRY(PutOne(name(entry), depth));
      out_ += ':';
      TRY(Put(entry->second, depth + 1));
    }
    return PutRaw("}");
  }

  // Writes {"$dict":[[key,value],...]}, sorted by the texts of the keys.
  Result<void> PutEntries(const Dict& dict, int depth) {
    std::vector<std::pair<std::string, const Value*>> entries;
    std::size_t key_bytes = out_.size();
    for (const auto& [key, value] : dict.items) {
      Writer writer;
      writer.int_work_ = int_work_;
      TRY(writer.Put(key, depth + 3));
      int_work_ = writer.int_work_;
      entries.emplace_back(std::move(writer).Finish(), &value);
      key_bytes += entries.back().first.size();
      if (key_bytes > kMaxCanonicalBytes) return TooLong();
    }
    const auto text = [](const auto& entry) -> const std::string& { return entry.first; };
    std::ranges::sort(entries, ComesBefore, text);
    if (std::ranges::adjacent_find(entries, {}, text) != entries.end()) {
      return Invalid("dict has a key twice");
    }
    out_ += "{\"$dict\":[";
    for (const auto& [key, value] : entries) {
      if (key != entries.front().first) out_ += ',';
      out_.append("[").append(key).append(",");
      TRY(Put(*value, depth + 3));
      out_ += ']';
    }
    return PutRaw("]}");
  }

  std::string out_;
  IntWork int_work_;
};

// Replaces marks by their values. Malformed marks need no error here: the canonical text of the
// result then differs from the text that was read, and the caller compares the two.
class Reader {
 public:
  static Result<Value> Read(Value value) {
    if (auto* list = std::get_if<List>(&value.variant())) return ReadList(*std::move(list));
    auto* dict = std::get_if<Dict>(&value.variant());
    if (dict == nullptr) return value;
    if (dict->items.size() == 1) {
      auto& [key, content] = dict->items[0];
      const std::string& name = *key.If<std::string>();
      if (name.starts_with('$')) return ReadMark(name, std::move(content));
    }
    for (auto& [key, each] : dict->items) {
      TRY_ASSIGN(each, Read(std::move(each)));
    }
    return value;
  }

 private:
  static Error Unknown() { return Invalid("not canonical JSON"); }

  static Result<Value> ReadList(List list) {
    for (Value& item : list.items) {
      TRY_ASSIGN(item, Read(std::move(item)));
    }
    return Value(std::move(list));
  }

  static Result<Value> ReadMark(std::string_view name, Value content) {
    if (auto* list = std::get_if<List>(&content.variant())) {
      TRY_ASSIGN(Value read, ReadList(*std::move(list)));
      std::vector<Value>& items = std::get<List>(read.variant()).items;
      if (name == "$tuple") return Value(Tuple{std::move(items)});
      if (name == "$dict") return ReadEntries(std::move(items));
      return Unknown();
    }
    const auto* text = content.If<std::string>();
    if (text == nullptr) return Unknown();
    if (name == "$bytes") {
      auto bytes = DecodeBase64Url(*text);
      return bytes ? Result<Value>(Bytes{*std::move(bytes)}) : Unknown();
    }
    if (name == "$float") return ReadFloat(*text);
    if (name == "$int") {
      auto number = FromHexadecimal(*text);
      return number ? Result<Value>(*std::move(number)) : Unknown();
    }
    return Unknown();
  }

  static Result<Value> ReadEntries(std::vector<Value> entries) {
    Dict dict;
    for (Value& entry : entries) {
      auto* pair = std::get_if<List>(&entry.variant());
      if (pair == nullptr || pair->items.size() != 2) return Unknown();
      dict.items.emplace_back(std::move(pair->items[0]), std::move(pair->items[1]));
    }
    return Value(std::move(dict));
  }

  static Result<Value> ReadFloat(std::string_view text) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
    if (text == "inf") return Value(kInfinity);
    if (text == "-inf") return Value(-kInfinity);
    return Unknown();
  }
};

}  // namespace

Result<std::string> CanonicalJson(const Value& value) {
  Writer writer;
  TRY(writer.Put(value, 0));
  return std::move(writer).Finish();
}

Result<std::string> ShownJson(const Value& value) {
  TRY_ASSIGN(const std::string text, CanonicalJson(value));
  return SpellOutDeceptive(text);
}

Result<Value> ParseCanonicalJson(std::string_view text) {
  // Marks take up to four times the memory of their values. With this budget every canonical text
  // can be read.
  DecodeBudget budget(4 * kMaxDecodedBytes);
  TRY_ASSIGN(Value json, ParseJson(text, budget));
  TRY_ASSIGN(Value value, Reader::Read(std::move(json)));
  TRY_ASSIGN(const std::string again, CanonicalJson(value));
  if (again != text) return Invalid("the JSON is not in its canonical form");
  return value;
}

}  // namespace caisson
