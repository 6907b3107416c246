#include "wire/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/utf8.h"

namespace caisson {

bool List::operator==(const List&) const = default;
bool Tuple::operator==(const Tuple&) const = default;
bool Dict::operator==(const Dict&) const = default;

Value::Value() noexcept = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;
bool Value::operator==(const Value& other) const = default;

const Value* Dict::Find(std::string_view key) const {
  for (const auto& [name, value] : items) {
    const auto* text = name.If<std::string>();
    if (text != nullptr && *text == key) return &value;
  }
  return nullptr;
}

namespace {

enum Tag : std::uint8_t {
  kNone = 0,
  kFalse = 1,
  kTrue = 2,
  kInt = 3,
  kBigInt = 4,
  kFloat = 5,
  kStr = 6,
  kBytes = 7,
  kList = 8,
  kTuple = 9,
  kDict = 10,
};

// No int of more bytes has kMaxJsonDigits digits or fewer. Longer ones are refused early, because
// decimal conversion takes quadratic time.
constexpr std::size_t kMaxJsonIntBytes = 1786;
// The limit for all ints of one text: a hundred ints of kMaxJsonDigits digits.
constexpr std::uint64_t kMaxIntWork = 2'300'000'000;

Error Invalid(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

std::uint64_t ZigZag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

std::int64_t UnZigZag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  Result<void> Put(const Value& value, int depth) {
    return std::visit([&](const auto& v) { return PutOne(v, depth); }, value.variant());
  }

 private:
  void PutTag(Tag tag) { out_.push_back(static_cast<char>(tag)); }

  void PutCount(Tag tag, std::uint64_t count) {
    PutTag(tag);
    for (; count >= 0x80; count >>= 7) out_.push_back(static_cast<char>(count | 0x80));
    out_.push_back(static_cast<char>(count));
  }

  Result<void> PutBlob(Tag tag, std::string_view bytes) {
    PutCount(tag, bytes.size());
    out_.append(bytes);
    return {};
  }

  Result<void> PutOne(std::monostate, int) {
    PutTag(kNone);
    return {};
  }
  Result<void> PutOne(bool value, int) {
    PutTag(value ? kTrue : kFalse);
    return {};
  }
  Result<void> PutOne(std::int64_t value, int) {
    PutCount(kInt, ZigZag(value));
    return {};
  }
  Result<void> PutOne(double value, int) {
    PutTag(kFloat);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) out_.push_back(static_cast<char>(bits >> shift));
    return {};
  }
  Result<void> PutOne(const BigInt& value, int) { return PutBlob(kBigInt, value.twos_complement); }
  Result<void> PutOne(const std::string& value, int) { return PutBlob(kStr, value); }
  Result<void> PutOne(const Bytes& value, int) { return PutBlob(kBytes, value.data); }
  Result<void> PutOne(const List& list, int depth) { return PutItems(kList, list.items, depth); }
  Result<void> PutOne(const Tuple& tuple, int depth) {
    return PutItems(kTuple, tuple.items, depth);
  }

  Result<void> PutItems(Tag tag, const std::vector<Value>& items, int depth) {
    if (depth >= kMaxValueDepth) return Invalid("value is nested too deeply");
    PutCount(tag, items.size());
    for (const Value& item : items) TRY(Put(item, depth + 1));
    return {};
  }

  Result<void> PutOne(const Dict& dict, int depth) {
    if (depth >= kMaxValueDepth) return Invalid("value is nested too deeply");
    PutCount(kDict, dict.items.size());
    for (const auto& [key, value] : dict.items) {
      TRY(Put(key, depth + 1));
      TRY(Put(value, depth + 1));
    }
    return {};
  }

  std::string& out_;
};

class Decoder {
 public:
  Decoder(std::string_view bytes, DecodeBudget& budget) : rest_(bytes), budget_(budget) {}

  bool done() const { return rest_.empty(); }

  Result<Value> TakeFirstItem() {
    TRY_ASSIGN(const std::uint8_t tag, TakeByte());
    if (tag != kList && tag != kTuple) return Invalid("neither a list nor a tuple");
    TRY_ASSIGN(const std::size_t count, TakeCount(1));
    if (count == 0) return Invalid("there is no first item");
    return Take(1);
  }

  Result<Value> Take(int depth) {
    TRY_ASSIGN(const std::uint8_t tag, TakeByte());
    switch (tag) {
      case kNone:
        return Value();
      case kFalse:
        return Value(false);
      case kTrue:
        return Value(true);
      case kInt: {
        TRY_ASSIGN(const std::uint64_t zigzag, TakeVarint());
        return Value(UnZigZag(zigzag));
      }
      case kBigInt:
        return TakeBigInt();
      case kFloat:
        return TakeFloat();
      case kStr: {
        TRY_ASSIGN(const std::string_view text, TakeBlob());
        if (!IsUtf8(text)) return Invalid("str is not UTF-8");
        return Value(std::string(text));
      }
      case kBytes: {
        TRY_ASSIGN(const std::string_view data, TakeBlob());
        return Value(Bytes{std::string(data)});
      }
      case kList: {
        TRY_ASSIGN(auto items, TakeItems(depth));
        return Value(List{std::move(items)});
      }
      case kTuple: {
        TRY_ASSIGN(auto items, TakeItems(depth));
        return Value(Tuple{std::move(items)});
      }
      case kDict:
        return TakeDict(depth);
      default:
        return Invalid("unknown tag " + std::to_string(tag));
    }
  }

 private:
  static Error Truncated() { return Invalid("value is cut short"); }

  Result<std::uint8_t> TakeByte() {
    if (rest_.empty()) return Truncated();
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }

  Result<std::uint64_t> TakeVarint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      TRY_ASSIGN(const std::uint8_t byte, TakeByte());
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    return Invalid("number does not fit 64 bits");
  }

  // Reads a count of items that take at least `unit` bytes each. Fails if the remaining bytes
  // cannot hold them.
  Result<std::size_t> TakeCount(std::size_t unit) {
    TRY_ASSIGN(const std::uint64_t count, TakeVarint());
    if (count > rest_.size() / unit) return Truncated();
    return static_cast<std::size_t>(count);
  }

  Result<std::string_view> TakeBlob() {
    TRY_ASSIGN(const std::size_t size, TakeCount(1));
    TRY(budget_.ChargeText(size));
    const std::string_view blob = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return blob;
  }

  Result<Value> TakeBigInt() {
    TRY_ASSIGN(const std::string_view blob, TakeBlob());
    if (blob.empty()) return Invalid("int without digits");
    if (blob.size() > 8) return Value(BigInt{std::string(blob)});
    // A small int in the long form is read as a small int, so that each value has one
    // representation.
    const bool negative = (static_cast<std::uint8_t>(blob.back()) & 0x80) != 0;
    std::uint64_t bits = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = blob.size(); i-- > 0;) {
      bits = (bits << 8) | static_cast<std::uint8_t>(blob[i]);
    }
    return Value(static_cast<std::int64_t>(bits));
  }

  Result<Value> TakeFloat() {
    if (rest_.size() < 8) return Truncated();
    std::uint64_t bits = 0;
    for (std::size_t i = 8; i-- > 0;) bits = (bits << 8) | static_cast<std::uint8_t>(rest_[i]);
    rest_.remove_prefix(8);
    return Value(std::bit_cast<double>(bits));
  }

  Result<std::vector<Value>> TakeItems(int depth) {
    if (depth >= kMaxValueDepth) return Invalid("value is nested too deeply");
    TRY_ASSIGN(const std::size_t count, TakeCount(1));
    TRY(budget_.ChargeItems(count, sizeof(Value)));
    std::vector<Value> items;
    items.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      TRY_ASSIGN(Value item, Take(depth + 1));
      items.push_back(std::move(item));
    }
    return items;
  }

  Result<Value> TakeDict(int depth) {
    if (depth >= kMaxValueDepth) return Invalid("value is nested too deeply");
    TRY_ASSIGN(const std::size_t count, TakeCount(2));
    TRY(DecodeBudget::CheckKeys(count));
    TRY(budget_.ChargeItems(count, 2 * sizeof(Value)));
    Dict dict;
    dict.items.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      TRY_ASSIGN(Value key, Take(depth + 1));
      TRY_ASSIGN(Value value, Take(depth + 1));
      dict.items.emplace_back(std::move(key), std::move(value));
    }
    if (FindTwin(dict) != nullptr) return Invalid("dict has a key twice");
    return Value(std::move(dict));
  }

  std::string_view rest_;
  DecodeBudget& budget_;
};

// Converts two's complement, least significant byte first, to decimal.
std::string ToDecimal(std::string_view bytes) {
  const bool negative = (static_cast<std::uint8_t>(bytes.back()) & 0x80) != 0;
  std::vector<std::uint32_t> limbs((bytes.size() + 3) / 4, 0);
  std::uint32_t carry = negative ? 1 : 0;
  for (std::size_t i = 0; i < limbs.size() * 4; ++i) {
    std::uint32_t byte = i < bytes.size() ? static_cast<std::uint8_t>(bytes[i])
                         : negative       ? 0xffU
                                          : 0U;
    if (negative) {  // The magnitude is ~x + 1.
      byte = (~byte & 0xffU) + carry;
      carry = byte >> 8;
      byte &= 0xffU;
    }
    limbs[i / 4] |= byte << (8 * (i % 4));
  }
  if (carry != 0) limbs.push_back(1);
  std::string reversed;
  while (!limbs.empty()) {
    std::uint64_t remainder = 0;
    for (std::size_t i = limbs.size(); i-- > 0;) {
      const std::uint64_t part = (remainder << 32) | limbs[i];
      limbs[i] = static_cast<std::uint32_t>(part / 1'000'000'000);
      remainder = part % 1'000'000'000;
    }
    while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
    for (int digit = 0; digit < 9; ++digit, remainder /= 10) {
      reversed.push_back(static_cast<char>('0' + remainder % 10));
    }
  }
  while (reversed.size() > 1 && reversed.back() == '0') reversed.pop_back();
  if (negative) reversed.push_back('-');
  return {reversed.rbegin(), reversed.rend()};
}

class JsonWriter {
 public:
  std::string Finish() && { return std::move(out_); }

  Result<void> Put(const Value& value, int depth) {
    return std::visit([&](const auto& v) { return PutOne(v, depth); }, value.variant());
  }

 private:
  Result<void> PutRaw(std::string_view text) {
    out_.append(text);
    return {};
  }

  Result<void> PutOne(std::monostate, int) { return PutRaw("null"); }
  Result<void> PutOne(bool value, int) { return PutRaw(value ? "true" : "false"); }
  Result<void> PutOne(std::int64_t value, int) { return PutRaw(std::to_string(value)); }
  Result<void> PutOne(const Bytes&, int) { return Invalid("JSON cannot hold bytes"); }

  static Error TooManyDigits() {
    return Invalid("JSON cannot hold an int of more than " + std::to_string(kMaxJsonDigits) +
                   " digits");
  }

  Result<void> PutOne(const BigInt& value, int) {
    if (value.twos_complement.empty()) return Invalid("int without digits");
    if (value.twos_complement.size() > kMaxJsonIntBytes) return TooManyDigits();
    const std::string decimal = ToDecimal(value.twos_complement);
    if (decimal.size() - (decimal.starts_with('-') ? 1 : 0) > kMaxJsonDigits)
      return TooManyDigits();
    TRY(int_work_.Charge(decimal.size()));
    return PutRaw(decimal);
  }

  Result<void> PutOne(double value, int) {
    if (!std::isfinite(value)) return Invalid("JSON cannot hold NaN or infinity");
    std::array<char, 32> text;
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
    out_.append(digits);
    // A float must read back as a float.
    if (digits.find_first_of(".e") == std::string_view::npos) out_.append(".0");
    return {};
  }

  Result<void> PutOne(const std::string& text, int) {
    out_.push_back('"');
    for (const char c : text) PutCharacter(c);
    out_.push_back('"');
    return {};
  }

  void PutCharacter(char c) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto byte = static_cast<std::uint8_t>(c);
    switch (c) {
      case '"':
        out_.append("\\\"");
        return;
      case '\\':
        out_.append("\\\\");
        return;
      case '\n':
        out_.append("\\n");
        return;
      case '\r':
        out_.append("\\r");
        return;
      case '\t':
        out_.append("\\t");
        return;
      default:
        break;
    }
    if (byte >= 0x20 && byte != 0x7f) {
      out_.push_back(c);
      return;
    }
    out_.append("\\u00");
    out_.push_back(kHex[byte >> 4]);
    out_.push_back(kHex[byte & 15]);
  }

  Result<void> PutOne(const List& list, int depth) { return PutItems(list.items, depth); }
  Result<void> PutOne(const Tuple& tuple, int depth) { return PutItems(tuple.items, depth); }

  Result<void> PutItems(const std::vector<Value>& items, int depth) {
    if (depth >= kMaxValueDepth) return Invalid("value is nested too deeply");
    out_.push_back('[');
    for (const Value& item : items) {
      if (&item != items.data()) out_.push_back(',');
      TRY(Put(item, depth + 1));
    }
    out_.push_back(']');
    return {};
  }

  Result<void> PutOne(const Dict& dict, int depth) {
    if (depth >= kMaxValueDepth) return Invalid("value is nested too deeply");
    out_.push_back('{');
    bool first = true;
    for (const auto& [key, value] : dict.items) {
      const auto* name = key.If<std::string>();
      if (name == nullptr) return Invalid("JSON cannot hold a key that is not a str");
      if (!first) out_.push_back(',');
      first = false;
      TRY(PutOne(*name, depth));
      out_.push_back(':');
      TRY(Put(value, depth + 1));
    }
    out_.push_back('}');
    return {};
  }

  std::string out_;
  IntWork int_work_;
};

}  // namespace

std::size_t DecodedBytes(const Value& value) {
  std::size_t bytes = sizeof(Value);
  const auto add = [&](const std::vector<Value>& items) {
    for (const Value& item : items) bytes += DecodedBytes(item);
  };
  if (const auto* text = value.If<std::string>()) bytes += text->size();
  if (const auto* data = value.If<Bytes>()) bytes += data->data.size();
  if (const auto* number = value.If<BigInt>()) bytes += number->twos_complement.size();
  if (const auto* list = value.If<List>()) add(list->items);
  if (const auto* tuple = value.If<Tuple>()) add(tuple->items);
  if (const auto* dict = value.If<Dict>()) bytes += DecodedBytes(*dict);
  return bytes;
}

std::size_t DecodedBytes(const Dict& dict) {
  std::size_t bytes = 0;
  for (const auto& [key, item] : dict.items) bytes += DecodedBytes(key) + DecodedBytes(item);
  return bytes;
}

const std::string* FindTwin(const Dict& dict) {
  std::vector<const std::string*> keys;
  keys.reserve(dict.items.size());
  for (const auto& [key, value] : dict.items) {
    if (const auto* text = key.If<std::string>()) keys.push_back(text);
  }
  // Most keys differ in length or at the start. Other comparisons cost as much as the keys are
  // long.
  const auto before = [](const std::string* a, const std::string* b) {
    return a->size() != b->size() ? a->size() < b->size() : *a < *b;
  };
  std::ranges::sort(keys, before);
  const auto same = [](const std::string* a, const std::string* b) { return *a == *b; };
  const auto twin = std::ranges::adjacent_find(keys, same);
  return twin == keys.end() ? nullptr : *twin;
}

Result<void> IntWork::Charge(std::size_t digits) {
  work_ += std::uint64_t{digits} * digits;
  if (work_ <= kMaxIntWork) return {};
  return Invalid("the large ints of one JSON text have too many digits together; send them as str");
}

Result<void> EncodeValue(const Value& value, std::string& out, int depth) {
  return Encoder(out).Put(value, depth);
}

Result<Value> DecodeValue(std::string_view bytes, DecodeBudget& budget) {
  TRY(budget.ChargeItems(1, sizeof(Value)));
  Decoder decoder(bytes, budget);
  TRY_ASSIGN(Value value, decoder.Take(0));
  if (!decoder.done()) return Invalid("bytes after the value");
  return value;
}

Result<Value> DecodeValue(std::string_view bytes) {
  DecodeBudget budget;
  return DecodeValue(bytes, budget);
}

Result<Value> DecodeFirstItem(std::string_view bytes) {
  DecodeBudget budget;
  return Decoder(bytes, budget).TakeFirstItem();
}

Result<std::string> ToJson(const Value& value) {
  JsonWriter writer;
  TRY(writer.Put(value, 0));
  return std::move(writer).Finish();
}

}  // namespace caisson
