#include "wire/canonical_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "wire/json.h"

namespace caisson {
namespace {

std::string Canonical(const Value& value) {
  auto text = CanonicalJson(value);
  return text ? *text : "error: " + text.error().message();
}

std::string Recoded(std::string_view json) {
  auto value = ParseJson(json);
  return value ? Canonical(*value) : "error: " + value.error().message();
}

Value Str(std::string_view text) {
  return Value(std::string(text));
}

TEST(CanonicalJsonTest, StringsAndKeysAreThoseOfRfc8785) {
  // Section 3.2.3: sorted by UTF-16 units, so the emoji (two surrogates) comes before U+FB33.
  EXPECT_EQ(Recoded("{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,"
                    "\"\\u0080\":6,\"\\u00f6\":7}"),
            "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,"
            "\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":3}");
  EXPECT_EQ(Canonical(Str(std::string_view("\0\x1f\b\t\n\f\r\"\\/\x7f", 11))),
            "\"\\u0000\\u001f\\b\\t\\n\\f\\r\\\"\\\\/\x7f\"");
  EXPECT_EQ(Recoded(R"( { "b" : [ true , null ] , "a" : { } } )"), R"({"a":{},"b":[true,null]})");
}

TEST(CanonicalJsonTest, FloatsAreThoseOfRfc8785) {
  // Appendix B, the samples with a fraction or an exponent.
  const std::map<std::uint64_t, std::string> samples = {
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"}};
  for (const auto& [bits, text] : samples) {
    EXPECT_EQ(Canonical(Value(std::bit_cast<double>(bits))), text);
  }
}

TEST(CanonicalJsonTest, AnIntIsNeverAFloat) {
  EXPECT_EQ(Canonical(Value(std::int64_t{1})), "1");
  EXPECT_EQ(Canonical(Value(1.0)), "1.0");
  EXPECT_EQ(Canonical(Value(0.0)), "0.0");
  EXPECT_EQ(Canonical(Value(-0.0)), "-0.0");
  EXPECT_EQ(Canonical(Value(1e20)), "100000000000000000000.0");
  EXPECT_EQ(Recoded("100000000000000000000"), "100000000000000000000");
  // A reader that uses doubles would take these two for the same number.
  EXPECT_NE(Recoded("9007199254740993"), Recoded("9007199254740992"));
  EXPECT_EQ(Recoded("-9223372036854775809"), "-9223372036854775809");
}

TEST(CanonicalJsonTest, ValuesThatJsonCannotExpressAreMarked) {
  EXPECT_EQ(Canonical(Bytes{"hi"}), R"({"$bytes":"aGk"})");
  EXPECT_EQ(Canonical(Tuple{{Value(true)}}), R"({"$tuple":[true]})");
  EXPECT_EQ(Canonical(Value(std::nan(""))), R"({"$float":"nan"})");
  EXPECT_EQ(Canonical(Value(-std::numeric_limits<double>::infinity())), R"({"$float":"-inf"})");
  EXPECT_EQ(
      Canonical(Dict{{{Value(std::int64_t{2}), Str("b")}, {Value(std::int64_t{1}), Str("a")}}}),
      R"({"$dict":[[1,"a"],[2,"b"]]})");
}

TEST(CanonicalJsonTest, DictsThatLookLikeMarksAreNotTakenForThem) {
  const Value forged = Dict{{{Str("$bytes"), Str("aGk")}}};
  EXPECT_EQ(Canonical(forged), R"({"$dict":[["$bytes","aGk"]]})");
  EXPECT_EQ(*ParseCanonicalJson(Canonical(forged)), forged);
  const Value twice = Dict{{{Str("$dict"), List{{List{{Str("$bytes"), Str("aGk")}}}}}}};
  EXPECT_NE(Canonical(twice), Canonical(forged));
  EXPECT_EQ(*ParseCanonicalJson(Canonical(twice)), twice);
  EXPECT_EQ(Canonical(Dict{{{Str("$bytes"), Str("x")}, {Str("a"), Value()}}}),
            R"({"$bytes":"x","a":null})");
}

// Python's json reads no decimal number of more than 4300 digits, so these are written as hex()
// does.
TEST(CanonicalJsonTest, LongIntsAreMarked) {
  const BigInt big{std::string(8999, '\0') + '\x01'};
  EXPECT_EQ(Canonical(big), R"({"$int":"0x1)" + std::string(2 * 8999, '0') + R"("})");
  const BigInt negative{std::string(8999, '\0') + '\xff'};
  EXPECT_EQ(Canonical(negative), R"({"$int":"-0x1)" + std::string(2 * 8999, '0') + R"("})");
  const BigInt smallest{std::string(8999, '\0') + '\x80'};
  EXPECT_EQ(Canonical(smallest), R"({"$int":"-0x80)" + std::string(2 * 8999, '0') + R"("})");
  for (const BigInt& value : {big, negative, smallest, BigInt{std::string(5000, '\x7f')},
                              BigInt{std::string(5000, '\x7f') + '\x9c'}}) {
    const auto read = ParseCanonicalJson(Canonical(value));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(Canonical(*read), Canonical(value));
  }
}

TEST(CanonicalJsonTest, ShownJsonHidesNothingAndIsTheSameValue) {
  const Value value = Dict{{{Str("to"), Str("a\u202eb")}, {Str("raw"), Bytes{"hi"}}}};
  EXPECT_EQ(*ShownJson(value), R"({"raw":{"$bytes":"aGk"},"to":"a\u202eb"})");
  EXPECT_EQ(*ParseJson(*ShownJson(value)), *ParseJson(Canonical(value)));
}

TEST(CanonicalJsonTest, TheOrderOfKeysIsNoDifference) {
  EXPECT_EQ(Recoded(R"({"b":1,"a":2})"), Recoded(R"({"a":2,"b":1})"));
}

TEST(CanonicalJsonTest, ValuesWithoutCanonicalTextAreRefused) {
  EXPECT_FALSE(CanonicalJson(Str("\xed\xa0\x80")));  // A lone surrogate.
  EXPECT_FALSE(CanonicalJson(Dict{{{Str("\xff"), Value()}}}));
  EXPECT_FALSE(CanonicalJson(Dict{{{Str("a"), Value()}, {Str("a"), Value(true)}}}));
  EXPECT_FALSE(CanonicalJson(Dict{{{Value(true), Value()}, {Value(true), Value()}}}));
  Value deep;
  for (int i = 0; i < kMaxValueDepth / 2; ++i) deep = Tuple{{deep}};
  EXPECT_TRUE(ParseCanonicalJson(Canonical(deep)));
  EXPECT_FALSE(CanonicalJson(Tuple{{deep}}));
}

TEST(CanonicalJsonTest, OnlyTheCanonicalTextIsRead) {
  for (const char* text :
       {"1 ", R"({"b":1,"a":2})", "1e2", R"("\u0041")", R"({"$bytes":"aGk="})", R"({"$bytes":7})",
        R"({"$set":[]})", R"({"$dict":[["a",1]]})", R"({"$dict":[[2,1],[1,1]]})",
        R"({"$dict":[[1]]})", R"({"$int":"0x1"})", R"({"$int":"10"})", R"({"$int":7})",
        R"({"$float":"1.0"})", R"({"$tuple":"x"})", "-0", "10.50"}) {
    EXPECT_FALSE(ParseCanonicalJson(text)) << text;
  }
}

// Builds values from few parts, so that nearly equal values are frequent.
Value AnyValue(std::mt19937& random, int depth) {
  const std::vector<Value> leaves = {Value(),
                                     Value(true),
                                     Value(std::int64_t{0}),
                                     Value(0.0),
                                     Value(-0.0),
                                     Value(0.5),
                                     Str(""),
                                     Str("0"),
                                     Str("$bytes"),
                                     Str("null"),
                                     Bytes{""},
                                     Bytes{"0"},
                                     Bytes{"\xff"},
                                     BigInt{std::string("\0\0\0\0\0\0\0\0\1", 9)},
                                     Value(std::numeric_limits<double>::infinity())};
  const auto pick = [&](std::size_t n) { return std::size_t{random() % n}; };
  if (depth == 0 || pick(3) == 0) return leaves[pick(leaves.size())];
  std::vector<Value> items;
  for (std::size_t n = pick(3); n > 0; --n) items.push_back(AnyValue(random, depth - 1));
  switch (pick(3)) {
    case 0:
      return List{items};
    case 1:
      return Tuple{items};
    default:
      break;
  }
  constexpr std::string_view kKeys[] = {"a", "$bytes", "$dict", "$tuple", "$float"};
  Dict dict;
  for (const Value& item : items) {
    const Value key = pick(4) == 0 ? AnyValue(random, 1) : Str(kKeys[pick(5)]);
    const bool taken = std::ranges::any_of(
        dict.items, [&](const auto& entry) { return Canonical(entry.first) == Canonical(key); });
    if (!taken) dict.items.emplace_back(key, item);
  }
  std::ranges::sort(dict.items, {}, [](const auto& entry) { return Canonical(entry.first); });
  return dict;
}

std::string Wire(const Value& value) {
  std::string bytes;
  EXPECT_TRUE(EncodeValue(value, bytes));
  return bytes;
}

TEST(CanonicalJsonTest, NoTwoValuesShareATextAndEachComesBack) {
  std::mt19937 random(20240817);  // NOLINT: the same values every time.
  std::map<std::string, std::string> seen;
  for (int i = 0; i < 20'000; ++i) {
    const Value value = AnyValue(random, 3);
    const std::string text = Canonical(value);
    const auto back = ParseCanonicalJson(text);
    ASSERT_TRUE(back) << text << ": " << back.error().message();
    ASSERT_EQ(Canonical(*back), text);
    const auto [known, fresh] = seen.emplace(text, Wire(value));
    ASSERT_EQ(known->second, Wire(value)) << text;
  }
  EXPECT_GT(seen.size(), 2'000u);
}

TEST(CanonicalJson, ATextIsBoundedAfterEscaping) {
  EXPECT_TRUE(CanonicalJson(Value(std::string(8u << 20, 'x'))));
  // Six bytes each.
  const auto controls = CanonicalJson(Value(std::string(8u << 20, '\x01')));
  ASSERT_FALSE(controls);
  EXPECT_EQ(controls.error().code(), ErrorCode::kResourceExhausted);
  Dict keys;
  for (int i = 0; i < 30; ++i) {
    keys.items.emplace_back(Tuple{{Value(std::string(100'000, '\x01')), Value(std::int64_t{i})}},
                            Value());
  }
  EXPECT_FALSE(CanonicalJson(keys));
}

TEST(CanonicalJson, EveryValueOfAMessageCanBeReadBack) {
  // Empty tuples grow most: 2 bytes on the wire, 13 as text, four values when parsed.
  Value tuples = List{std::vector<Value>(300'000, Value(Tuple{}))};
  std::string bytes;
  ASSERT_TRUE(EncodeValue(tuples, bytes));
  ASSERT_TRUE(DecodeValue(bytes));
  const auto text = CanonicalJson(tuples);
  ASSERT_TRUE(text);
  const auto back = ParseCanonicalJson(*text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, tuples);
}

TEST(CanonicalJson, AsManyLargeIntsAsCanBeWrittenCanBeReadBack) {
  List ints;
  ints.items.resize(137, BigInt{std::string(1700, '\x55')});  // Of 4,094 digits.
  const auto text = CanonicalJson(ints);
  ASSERT_TRUE(text);
  EXPECT_TRUE(ParseCanonicalJson(*text));
  ints.items.resize(138, BigInt{std::string(1700, '\x55')});
  EXPECT_FALSE(CanonicalJson(ints));
}

}  // namespace
}  // namespace caisson
