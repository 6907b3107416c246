#include "wire/json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace caisson {
namespace {

// Reading decimal digits takes quadratic time. ToJson writes no longer numbers.
constexpr std::size_t kMaxDigits = 20'000;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Converts decimal digits to two's complement, least significant byte first.
std::string FromDecimal(std::string_view digits, bool negative) {
  constexpr std::uint64_t kChunk = 1'000'000'000;
  std::vector<std::uint32_t> limbs;
  while (!digits.empty()) {
    const std::size_t take = (digits.size() - 1) % 9 + 1;
    std::uint64_t carry = 0;
    std::from_chars(digits.data(), digits.data() + take, carry);
    digits.remove_prefix(take);
    for (std::uint32_t& limb : limbs) {
      carry += std::uint64_t{limb} * kChunk;
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs.push_back(static_cast<std::uint32_t>(carry));
  }
  limbs.push_back(0);  // Room for the sign.
  std::uint64_t carry = 1;
  std::string bytes;
  for (std::uint32_t limb : limbs) {
    if (negative) {
      carry += static_cast<std::uint32_t>(~limb);
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(limb >> shift));
  }
  return bytes;
}

class Parser {
 public:
  Parser(std::string_view text, DecodeBudget& budget) : text_(text), budget_(budget) {}

  Result<Value> Parse() {
    Result<Value> value = TakeValue(0);
    if (value && !AtEnd()) value = Error(ErrorCode::kInvalidArgument, "text after the value");
    if (!value) return std::move(value).error().Context("JSON, " + Place());
    return value;
  }

 private:
  static Error Invalid(std::string message) {
    return Error(ErrorCode::kInvalidArgument, std::move(message));
  }

  std::string Place() const {
    const std::string_view before = text_.substr(0, position_);
    const auto lines = std::ranges::count(before, '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = position_ - (start == before.npos ? 0 : start + 1);
    return "line " + std::to_string(lines + 1) + " column " + std::to_string(column + 1);
  }

  char Peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  bool Skip(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void SkipSpace() {
    position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
  }

  bool AtEnd() {
    SkipSpace();
    return position_ == text_.size();
  }

  Result<Value> TakeValue(int depth) {
    SkipSpace();
    switch (Peek()) {
      case '{':
        return TakeObject(depth);
      case '[':
        return TakeArray(depth);
      case '"': {
        TRY_ASSIGN(std::string text, TakeString());
        return Value(std::move(text));
      }
      case 'n':
        return TakeWord("null", Value());
      case 't':
        return TakeWord("true", Value(true));
      case 'f':
        return TakeWord("false", Value(false));
      default:
        return TakeNumber();
    }
  }

  Result<Value> TakeWord(std::string_view word, Value value) {
    if (text_.substr(position_, word.size()) != word) return Invalid("a value is expected");
    position_ += word.size();
    return value;
  }

  Result<Value> TakeArray(int depth) {
    if (depth >= kMaxValueDepth) return Invalid("nested too deeply");
    ++position_;
    List list;
    SkipSpace();
    if (Skip(']')) return Value(std::move(list));
    for (;;) {
      TRY_ASSIGN(Value item, TakeValue(depth + 1));
      TRY(MakeRoom(list.items));
      list.items.push_back(std::move(item));
      SkipSpace();
      if (Skip(']')) return Value(std::move(list));
      if (!Skip(',')) return Invalid("\",\" or \"]\" is expected");
    }
  }

  Result<Value> TakeObject(int depth) {
    if (depth >= kMaxValueDepth) return Invalid("nested too deeply");
    ++position_;
    Dict dict;
    SkipSpace();
    if (Skip('}')) return Value(std::move(dict));
    for (;;) {
      SkipSpace();
      if (Peek() != '"') return Invalid("a key in double quotes is expected");
      TRY_ASSIGN(std::string key, TakeString());
      SkipSpace();
      if (!Skip(':')) return Invalid("\":\" is expected");
      TRY_ASSIGN(Value value, TakeValue(depth + 1));
      TRY(DecodeBudget::CheckKeys(dict.items.size() + 1));
      TRY(MakeRoom(dict.items));
      dict.items.emplace_back(std::move(key), std::move(value));
      SkipSpace();
      if (Skip('}')) return Distinct(std::move(dict));
      if (!Skip(',')) return Invalid("\",\" or \"}\" is expected");
    }
  }

  // Refuses duplicate keys: two readers could otherwise use different values of the same key.
  static Result<Value> Distinct(Dict dict) {
    if (const std::string* key = FindTwin(dict))
      return Invalid("key \"" + *key + "\" occurs twice");
    return Value(std::move(dict));
  }

  // Charges the memory that the vector allocates for one more item, before it allocates.
  template <typename T>
  Result<void> MakeRoom(std::vector<T>& items) {
    if (items.size() < items.capacity()) return {};
    const std::size_t more = std::max<std::size_t>(items.capacity(), 1);
    TRY(budget_.ChargeItems(more, sizeof(T)));
    items.reserve(items.capacity() + more);
    return {};
  }

  Result<std::string> TakeString() {
    ++position_;
    std::string out;
    for (;;) {
      const std::size_t stop = text_.find_first_of("\"\\", position_);
      if (stop == text_.npos) return Invalid("a string has no end");
      const std::string_view plain = text_.substr(position_, stop - position_);
      const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
      if (std::ranges::any_of(plain, is_control)) return Invalid("control character in a string");
      if (!IsUtf8(plain)) return Invalid("a string is not UTF-8");
      out.append(plain);
      position_ = stop + 1;
      if (text_[stop] == '"') {
        TRY(budget_.ChargeText(out.size()));
        return out;
      }
      TRY(TakeEscape(out));
    }
  }

  Result<void> TakeEscape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (Skip('u')) return TakeUnicode(out);
    const std::size_t which = kLetters.find(Peek());
    if (Peek() == '\0' || which == kLetters.npos) return Invalid("unknown escape in a string");
    out.push_back(kMeanings[which]);
    ++position_;
    return {};
  }

  Result<void> TakeUnicode(std::string& out) {
    TRY_ASSIGN(std::uint32_t unit, TakeHex());
    if (unit >= 0xd800 && unit < 0xdc00 && Skip('\\') && Skip('u')) {
      TRY_ASSIGN(const std::uint32_t low, TakeHex());
      if (low < 0xdc00 || low > 0xdfff) return Invalid("half of a surrogate pair");
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    if (unit >= 0xd800 && unit <= 0xdfff) return Invalid("half of a surrogate pair");
    AppendCharacter(out, unit);
    return {};
  }

  Result<std::uint32_t> TakeHex() {
    const std::string_view digits = text_.substr(position_, 4);
    std::uint32_t unit = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (digits.size() != 4 || parsed.ptr != digits.data() + 4)
      return Invalid("\\u needs four digits");
    position_ += 4;
    return unit;
  }

  std::size_t SkipDigits() {
    const std::size_t start = position_;
    while (IsDigit(Peek())) ++position_;
    return position_ - start;
  }

  Result<Value> TakeNumber() {
    const std::size_t start = position_;
    const bool negative = Skip('-');
    const std::size_t digits_start = position_;
    const std::size_t digits = SkipDigits();
    if (digits == 0) return Invalid("a value is expected");
    if (digits > 1 && text_[digits_start] == '0') return Invalid("a number starts with 0");
    const bool has_point = Skip('.');
    if (has_point && SkipDigits() == 0) return Invalid("a digit is expected after the point");
    const bool has_exponent = Skip('e') || Skip('E');
    if (has_exponent) {
      if (!Skip('+')) Skip('-');
      if (SkipDigits() == 0) return Invalid("a digit is expected in the exponent");
    }
    const std::string_view token = text_.substr(start, position_ - start);
    if (!has_point && !has_exponent) {
      return TakeInt(token, text_.substr(digits_start, digits), negative);
    }
    double number = 0;
    const auto parsed = std::from_chars(token.data(), token.data() + token.size(), number);
    if (parsed.ec != std::errc()) return Invalid("a number is out of range");
    return Value(number);
  }

  Result<Value> TakeInt(std::string_view token, std::string_view digits, bool negative) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(token.data(), token.data() + token.size(), number);
    if (parsed.ec == std::errc()) return Value(number);
    if (digits.size() > kMaxDigits) return Invalid("a number has too many digits");
    TRY(int_work_.Charge(token.size()));
    return Value(BigInt{FromDecimal(digits, negative)});
  }

  const std::string_view text_;
  DecodeBudget& budget_;
  std::size_t position_ = 0;
  IntWork int_work_;
};

}  // namespace

Result<Value> ParseJson(std::string_view text, DecodeBudget& budget) {
  return Parser(text, budget).Parse();
}

Result<Value> ParseJson(std::string_view text) {
  DecodeBudget budget;
  return ParseJson(text, budget);
}

}  // namespace caisson
