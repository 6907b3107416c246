#include "tools/json_equality.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace caisson {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

bool IsNegative(const BigInt& number) {
  return (static_cast<std::uint8_t>(number.twos_complement.back()) & 0x80) != 0;
}

// Removes bytes that only repeat the sign.
std::string_view Trimmed(const BigInt& number) {
  std::string_view bytes = number.twos_complement;
  const char filler = IsNegative(number) ? '\xff' : '\0';
  while (bytes.size() > 1 && bytes.back() == filler &&
         ((bytes[bytes.size() - 2] ^ filler) & 0x80) == 0) {
    bytes.remove_suffix(1);
  }
  return bytes;
}

double ToDouble(const BigInt& number) {
  double result = IsNegative(number) ? -1.0 : 0.0;
  for (auto byte = number.twos_complement.rbegin(); byte != number.twos_complement.rend(); ++byte) {
    result = result * 256 + static_cast<std::uint8_t>(*byte);
  }
  return result;
}

std::strong_ordering Compare(const BigInt& a, const BigInt& b) {
  if (IsNegative(a) != IsNegative(b)) {
    return IsNegative(a) ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  const std::string_view left = Trimmed(a);
  const std::string_view right = Trimmed(b);
  if (left.size() != right.size()) {
    return (left.size() < right.size()) != IsNegative(a) ? std::strong_ordering::less
                                                         : std::strong_ordering::greater;
  }
  // Same sign and length: the bytes decide, as in unsigned numbers.
  return std::lexicographical_compare_three_way(
      left.rbegin(), left.rend(), right.rbegin(), right.rend(),
      [](char x, char y) { return static_cast<std::uint8_t>(x) <=> static_cast<std::uint8_t>(y); });
}

std::partial_ordering Compare(std::int64_t a, double b) {
  if (b >= kTwoTo63) return std::partial_ordering::less;
  if (b < -kTwoTo63) return std::partial_ordering::greater;
  if (std::isnan(b)) return std::partial_ordering::unordered;
  const double whole = std::trunc(b);
  const auto order = a <=> static_cast<std::int64_t>(whole);
  return order != 0 ? std::partial_ordering(order) : whole <=> b;
}

std::partial_ordering Reversed(std::partial_ordering order) {
  return 0 <=> order;
}

// Compares one pair of kinds at a time. A BigInt is outside the range of int64 (DecodeValue ensures
// this).
struct Comparison {
  std::partial_ordering operator()(std::int64_t a, std::int64_t b) const { return a <=> b; }
  std::partial_ordering operator()(double a, double b) const { return a <=> b; }
  std::partial_ordering operator()(std::int64_t a, double b) const { return Compare(a, b); }
  std::partial_ordering operator()(double a, std::int64_t b) const {
    return Reversed(Compare(b, a));
  }
  std::partial_ordering operator()(const BigInt& a, const BigInt& b) const { return Compare(a, b); }
  std::partial_ordering operator()(const BigInt& a, std::int64_t) const {
    return IsNegative(a) ? std::partial_ordering::less : std::partial_ordering::greater;
  }
  std::partial_ordering operator()(std::int64_t a, const BigInt& b) const {
    return Reversed((*this)(b, a));
  }
  std::partial_ordering operator()(const BigInt& a, double b) const { return ToDouble(a) <=> b; }
  std::partial_ordering operator()(double a, const BigInt& b) const { return a <=> ToDouble(b); }
  template <typename A, typename B>
  std::partial_ordering operator()(const A&, const B&) const {
    return std::partial_ordering::unordered;
  }
};

std::uint64_t Remainder(const BigInt& number, std::uint64_t divisor) {
  std::uint64_t remainder = 0;
  for (auto byte = number.twos_complement.rbegin(); byte != number.twos_complement.rend(); ++byte) {
    const auto next =
        (static_cast<unsigned __int128>(remainder) << 8) | static_cast<std::uint8_t>(*byte);
    remainder = static_cast<std::uint64_t>(next % divisor);
  }
  // A negative number is its bytes less 256^n.
  if (!IsNegative(number)) return remainder;
  std::uint64_t power = 1 % divisor;
  for (std::size_t i = 0; i < number.twos_complement.size(); ++i) {
    power = static_cast<std::uint64_t>((static_cast<unsigned __int128>(power) << 8) % divisor);
  }
  return (remainder + divisor - power) % divisor;
}

std::optional<double> AsDouble(const Value& value) {
  if (const auto* number = value.If<std::int64_t>()) return static_cast<double>(*number);
  if (const auto* number = value.If<double>()) return *number;
  if (const auto* number = value.If<BigInt>()) return ToDouble(*number);
  return std::nullopt;
}

class CanonicalWriter {
 public:
  std::string Finish() && { return std::move(out_); }

  void Put(const Value& value) {
    std::visit([&](const auto& v) { PutOne(v); }, value.variant());
  }

 private:
  // Length first, so that content cannot be read as structure.
  void PutBlob(char tag, std::string_view bytes) {
    out_.push_back(tag);
    out_.append(std::to_string(bytes.size())).push_back(':');
    out_.append(bytes);
  }

  void PutOne(std::monostate) { out_.push_back('n'); }
  void PutOne(bool value) { out_.push_back(value ? 't' : 'f'); }
  void PutOne(std::int64_t value) { PutBlob('i', std::to_string(value)); }
  void PutOne(const BigInt& value) { PutBlob('b', Trimmed(value)); }
  void PutOne(const std::string& value) { PutBlob('s', value); }
  void PutOne(const Bytes& value) { PutBlob('y', value.data); }
  void PutOne(const List& value) { PutItems(value.items); }
  void PutOne(const Tuple& value) { PutItems(value.items); }

  void PutOne(double value) {
    if (value >= -kTwoTo63 && value < kTwoTo63 && std::trunc(value) == value) {
      return PutOne(static_cast<std::int64_t>(value));
    }
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    PutBlob('d', {text.data(), end});
  }

  void PutItems(const std::vector<Value>& items) {
    out_.push_back('[');
    for (const Value& item : items) Put(item);
    out_.push_back(']');
  }

  void PutOne(const Dict& dict) {
    std::vector<std::pair<std::string, const Value*>> sorted;
    sorted.reserve(dict.items.size());
    for (const auto& [key, value] : dict.items) sorted.emplace_back(CanonicalText(key), &value);
    std::ranges::sort(sorted, {}, &std::pair<std::string, const Value*>::first);
    out_.push_back('{');
    for (const auto& [key, value] : sorted) {
      out_.append(key);
      Put(*value);
    }
    out_.push_back('}');
  }

  std::string out_;
};

}  // namespace

std::string CanonicalText(const Value& value) {
  CanonicalWriter writer;
  writer.Put(value);
  return std::move(writer).Finish();
}

std::partial_ordering CompareNumbers(const Value& a, const Value& b) {
  return std::visit(Comparison(), a.variant(), b.variant());
}

bool IsIntegral(const Value& value) {
  if (const auto* number = value.If<double>()) {
    return std::isfinite(*number) && std::trunc(*number) == *number;
  }
  return value.If<std::int64_t>() != nullptr || value.If<BigInt>() != nullptr;
}

bool IsMultipleOf(const Value& value, const Value& divisor) {
  if (const auto* whole = divisor.If<std::int64_t>()) {
    if (const auto* number = value.If<std::int64_t>()) return *number % *whole == 0;
    if (const auto* number = value.If<BigInt>()) {
      return Remainder(*number, static_cast<std::uint64_t>(*whole)) == 0;
    }
  }
  const auto number = AsDouble(value);
  const auto unit = AsDouble(divisor);
  if (!number || !unit || !std::isfinite(*number)) return false;
  // Both were rounded to binary, by at most half of the last bit. The tolerance is limited, so that
  // not every value matches.
  const double rounding = std::min(std::abs(*number) * 0x1p-51, *unit * 1e-6);
  return std::abs(std::remainder(*number, *unit)) <= rounding;
}

}  // namespace caisson
