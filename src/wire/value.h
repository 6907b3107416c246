// A Value is plain Python data that crosses between a cell and the host.
//
// The encoding is one byte of tag, then the content. Lengths and counts are unsigned LEB128,
// numbers little-endian:
//
//   0 None · 1 False · 2 True · 3 int that fits 64 bits, zigzag LEB128 · 4 bigger int: length, then
//   two's complement, least significant byte first · 5 float: 8 bytes IEEE 754
//   6 str: length, UTF-8 · 7 bytes: length, content · 8 list · 9 tuple: count, items
//   10 dict: count, key, value, ...
//
// Trust     Decode takes bytes that an attacker wrote. Lengths, counts, depth and UTF-8 are
//           checked, and memory is charged (wire/decode_budget.h), before anything is allocated.
//           Trailing bytes and duplicate str keys are refused. Duplicates are found by sorting, not
//           hashing, so no choice of keys makes the search slow.
// Threads   Values are values.
// Lifetime  A Value owns everything below it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "wire/decode_budget.h"

namespace caisson {

class Value;

struct BigInt {
  std::string twos_complement;  // Least significant byte first; at least one byte.
  bool operator==(const BigInt&) const = default;
};
struct Bytes {
  std::string data;
  bool operator==(const Bytes&) const = default;
};
struct List {
  std::vector<Value> items;
  bool operator==(const List&) const;
};
struct Tuple {
  std::vector<Value> items;
  bool operator==(const Tuple&) const;
};
struct Dict {
  std::vector<std::pair<Value, Value>> items;     // In insertion order.
  const Value* Find(std::string_view key) const;  // Null if there is no such str key.
  bool operator==(const Dict&) const;
};

// The deepest nesting in both directions, in the guest too. Deeper values are refused.
inline constexpr int kMaxValueDepth = 200;

class Value {
 public:
  using Variant = std::variant<std::monostate, bool, std::int64_t, BigInt, double, std::string,
                               Bytes, List, Tuple, Dict>;

  // Defined in one place, because most files of the host copy and destroy values and a variant of
  // ten types compiles slowly.
  Value() noexcept;
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  template <typename T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Value> &&
             std::is_constructible_v<Variant, T &&>)
  Value(T&& v) : v_(std::forward<T>(v)) {}  // NOLINT: implicit

  const Variant& variant() const { return v_; }
  Variant& variant() { return v_; }
  bool is_none() const { return v_.index() == 0; }
  template <typename T>
  const T* If() const {
    return std::get_if<T>(&v_);
  }
  bool operator==(const Value& other) const;

 private:
  Variant v_;
};

// Appends the encoding of `value` to `out`. Fails only if the nesting exceeds kMaxValueDepth.
// `depth`: the number of enclosing levels that the caller writes itself.
Result<void> EncodeValue(const Value& value, std::string& out, int depth = 0);

// Fails with kResourceExhausted if the budget is used up or a dict has more than kMaxDictKeys keys,
// with kInvalidArgument if the bytes are not a valid encoding.
Result<Value> DecodeValue(std::string_view bytes, DecodeBudget& budget);
// The same with a budget of kMaxDecodedBytes.
Result<Value> DecodeValue(std::string_view bytes);
// Decodes only the first item of an encoded list or tuple and ignores the rest.
Result<Value> DecodeFirstItem(std::string_view bytes);

// Returns the memory that the value takes, as a DecodeBudget counts it.
std::size_t DecodedBytes(const Value& value);
std::size_t DecodedBytes(const Dict& dict);

// Returns a str key that occurs twice in the dict; null if there is none.
const std::string* FindTwin(const Dict& dict);

// IntWork bounds the time for decimal digits. Reading or writing the digits of an int takes time
// that grows with the square of their number. IntWork sums this up for one text and fails with
// kInvalidArgument above a limit. Every text that can be written can be read.
class IntWork {
 public:
  Result<void> Charge(std::size_t digits);

 private:
  std::uint64_t work_ = 0;
};

// The largest number of digits of an int in JSON. Python's json reads no longer ones, so none are
// written. The guest has the same limit (guest/bridge/value_codec.h) and reports the repr of such a
// result.
inline constexpr std::size_t kMaxJsonDigits = 4300;

// Returns the value as JSON text. Fails if JSON cannot express it (NaN, bytes, a key that is not a
// string, an int of more than kMaxJsonDigits digits...). A tuple becomes an array.
Result<std::string> ToJson(const Value& value);

}  // namespace caisson
