#include "wire/value.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>

#include "wire/colliding_keys_for_test.h"

namespace caisson {
namespace {

std::string Encoded(const Value& value) {
  std::string out;
  EXPECT_TRUE(EncodeValue(value, out));
  return out;
}

Value RoundTrip(const Value& value) {
  auto decoded = DecodeValue(Encoded(value));
  EXPECT_TRUE(decoded) << decoded.error().message();
  return decoded ? *decoded : Value();
}

std::string Json(const Value& value) {
  auto json = ToJson(value);
  return json ? *json : "error: " + json.error().message();
}

Value Str(std::string_view text) {
  return Value(std::string(text));
}
Value Int(std::int64_t value) {
  return Value(value);
}

Value Sample() {
  return Dict{{{Str("none"), Value()},
               {Str("flags"), List{{Value(true), Value(false)}}},
               {Str("ints"), Tuple{{Int(0), Int(-1), Int(1), Int(1), Int(-300),
                                    Int(std::numeric_limits<std::int64_t>::max()),
                                    Int(std::numeric_limits<std::int64_t>::min())}}},
               {Str("big"), BigInt{std::string(8, '\0') + '\x01'}},
               {Str("float"), Value(-2.5)},
               {Str("text"), Str("h\xc3\xa9llo \xf0\x9f\x98\x80")},
               {Str("bytes"), Bytes{std::string("\x00\xff", 2)}},
               {Int(7), Dict{}},
               {Str("empty"), List{}}}};
}

TEST(ValueCodec, EveryKindOfValueSurvivesARoundTrip) {
  EXPECT_EQ(RoundTrip(Sample()), Sample());
}

TEST(ValueCodec, NanAndInfinityAndNegativeZeroSurvive) {
  EXPECT_TRUE(std::isnan(*RoundTrip(Value(std::nan(""))).If<double>()));
  EXPECT_EQ(RoundTrip(Value(-INFINITY)), Value(-INFINITY));
  EXPECT_TRUE(std::signbit(*RoundTrip(Value(-0.0)).If<double>()));
}

TEST(ValueCodec, TheEncodingIsTheDocumentedOne) {
  EXPECT_EQ(Encoded(Value()), std::string("\x00", 1));
  EXPECT_EQ(Encoded(Int(-1)), "\x03\x01");
  EXPECT_EQ(Encoded(Int(64)), std::string("\x03\x80\x01"));
  EXPECT_EQ(Encoded(Str("ab")),
            "\x06\x02"
            "ab");
  EXPECT_EQ(Encoded(List{{Value(true)}}), "\x08\x01\x02");
  EXPECT_EQ(Encoded(Value(1.0)), std::string("\x05\0\0\0\0\0\0\xf0\x3f", 9));
}

TEST(ValueCodec, CutShortAtAnyByteIsRefused) {
  const std::string bytes = Encoded(Sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeValue(std::string_view(bytes).substr(0, size))) << size;
  }
}

TEST(ValueCodec, TrailingBytesAreRefused) {
  EXPECT_FALSE(DecodeValue(Encoded(Int(1)) + '\0'));
}

TEST(ValueCodec, HostileCountsAreRefusedBeforeAnythingIsAllocated) {
  for (const char tag : {'\x04', '\x06', '\x07', '\x08', '\x09', '\x0a'}) {
    EXPECT_FALSE(DecodeValue(tag + std::string("\xff\xff\xff\xff\xff\xff\xff\xff\x7f")));
    EXPECT_FALSE(DecodeValue(tag + std::string("\xff\xff\xff\xff\x0f")));
    EXPECT_FALSE(DecodeValue(tag + std::string("\x02", 1) + std::string("\x00", 1)));
  }
}

TEST(ValueCodec, MalformedBytesAreRefused) {
  EXPECT_FALSE(DecodeValue(""));
  EXPECT_FALSE(DecodeValue("\x0b"));
  EXPECT_FALSE(DecodeValue(std::string("\x04\x00", 2))) << "int without digits";
  EXPECT_FALSE(DecodeValue("\x03\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02")) << "65 bits";
  EXPECT_FALSE(DecodeValue("\x03\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")) << "too long";
  EXPECT_TRUE(DecodeValue("\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}

TEST(ValueCodec, TextThatIsNotUtf8IsRefused) {
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"}) {
    std::string bytes = Encoded(Bytes{std::string(bad)});
    bytes[0] = 6;
    EXPECT_FALSE(DecodeValue(bytes)) << testing::PrintToString(bad);
  }
}

TEST(ValueCodec, DuplicateKeysAreRefused) {
  const Value twins = Dict{{{Str("end"), Int(1)}, {Str("end"), Int(2)}}};
  EXPECT_FALSE(DecodeValue(Encoded(twins)));
}

TEST(ValueCodec, NestingIsBoundedInBothDirections) {
  Value value = List{};
  for (int i = 1; i < kMaxValueDepth; ++i) value = List{{std::move(value)}};
  EXPECT_EQ(RoundTrip(value), value);
  EXPECT_TRUE(ToJson(value));
  value = List{{std::move(value)}};
  std::string out;
  EXPECT_FALSE(EncodeValue(value, out));
  EXPECT_FALSE(ToJson(value));
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += "\x08\x01";
  EXPECT_FALSE(DecodeValue(bytes + '\0'));
}

TEST(ValueCodec, ASmallIntWrittenAtLengthIsASmallInt) {
  EXPECT_EQ(*DecodeValue(std::string("\x04\x01\xff", 3)), Int(-1));
  EXPECT_EQ(*DecodeValue(std::string("\x04\x02\xff\x00", 4)), Int(255));
}

TEST(ValueCodec, FindsOnlyStrKeys) {
  const Dict dict{{{Int(1), Int(2)}, {Str("a"), Int(3)}}};
  ASSERT_NE(dict.Find("a"), nullptr);
  EXPECT_EQ(*dict.Find("a"), Int(3));
  EXPECT_EQ(dict.Find("1"), nullptr);
}

TEST(ValueJson, PlainValues) {
  EXPECT_EQ(Json(Value()), "null");
  EXPECT_EQ(Json(Value(true)), "true");
  EXPECT_EQ(Json(Int(-5)), "-5");
  EXPECT_EQ(Json(List{{Int(1), Tuple{{Int(2)}}, List{}}}), "[1,[2],[]]");
  EXPECT_EQ(Json(Dict{{{Str("a"), Int(1)}, {Str("b"), Dict{}}}}), R"({"a":1,"b":{}})");
}

TEST(ValueJson, AFloatStaysAFloat) {
  EXPECT_EQ(Json(Value(1.0)), "1.0");
  EXPECT_EQ(Json(Value(-0.0)), "-0.0");
  EXPECT_EQ(Json(Value(0.1)), "0.1");
  EXPECT_EQ(Json(Value(1e22)), "1e+22");
  EXPECT_EQ(Json(Value(5e-324)), "5e-324");
}

TEST(ValueJson, TextIsEscaped) {
  EXPECT_EQ(Json(Str("a\"b\\c\n\t\r\x01\x7f")), R"("a\"b\\c\n\t\r\u0001\u007f")");
  EXPECT_EQ(Json(Str(std::string_view("\0", 1))), R"("\u0000")");
  EXPECT_EQ(Json(Str("h\xc3\xa9")), "\"h\xc3\xa9\"");
}

TEST(ValueJson, IntsOfAnySizeAreNumbers) {
  EXPECT_EQ(Json(BigInt{std::string(8, '\0') + '\x01'}), "18446744073709551616");
  EXPECT_EQ(Json(BigInt{std::string(8, '\0') + '\xff'}), "-18446744073709551616");
  EXPECT_EQ(Json(BigInt{std::string(8, '\0') + '\x80'}), "-2361183241434822606848");
  EXPECT_EQ(Json(BigInt{std::string(12, '\0') + std::string("\0\0\0\x80", 4)}),
            "-170141183460469231731687303715884105728");
  EXPECT_EQ(Json(BigInt{std::string(9, '\0')}), "0");
  EXPECT_EQ(Json(BigInt{std::string(9, '\xff')}), "-1");
}

// Python's json reads no longer ints.
TEST(ValueJson, IntsHaveAtMost4300Digits) {
  // 2**14284 has 4300 digits, 2**14285 - 1 has 4301, and both have 1786 bytes.
  const BigInt longest{std::string(1785, '\0') + '\x10'};
  const BigInt longer{std::string(1785, '\xff') + '\x1f'};
  EXPECT_EQ(Json(longest).size(), 4300u);
  EXPECT_FALSE(ToJson(longer));
  const BigInt negative{std::string(1785, '\0') + '\xf0'};
  EXPECT_EQ(Json(negative), "-" + Json(longest));
  EXPECT_FALSE(ToJson(List{{Dict{{{Str("a"), longer}}}}}));
}

TEST(ValueJson, ValuesThatJsonCannotHoldAreErrors) {
  EXPECT_FALSE(ToJson(Value(std::nan(""))));
  EXPECT_FALSE(ToJson(Value(INFINITY)));
  EXPECT_FALSE(ToJson(Bytes{"x"}));
  EXPECT_FALSE(ToJson(Dict{{{Int(1), Int(2)}}}));
  EXPECT_FALSE(ToJson(BigInt{std::string(100'000, '\x01')}));
  EXPECT_FALSE(ToJson(List{{Dict{{{Str("a"), Value(std::nan(""))}}}}}));
}

TEST(DecodeBudget, EachNoneIsChargedWithItsDecodedSize) {
  List nones;
  nones.items.resize(1000);
  const std::string bytes = Encoded(nones);
  ASSERT_LT(bytes.size(), 1010u);
  DecodeBudget budget;
  ASSERT_TRUE(DecodeValue(bytes, budget));
  EXPECT_GE(budget.used_bytes(), 1001 * sizeof(Value));
  EXPECT_LT(budget.used_bytes(), 1001 * sizeof(Value) + 100);
}

TEST(DecodeBudget, AMessageThatGrowsBeyondTheLimitIsRefusedAndNothingIsAllocatedForIt) {
  // Eight million None values: 8 MB on the wire, 320 MB decoded.
  std::string bytes("\x08\x80\xa4\xe8\x03", 5);
  bytes.append(8'000'000, '\0');
  DecodeBudget budget;
  const auto value = DecodeValue(bytes, budget);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_NE(value.error().message().find(std::to_string(kMaxDecodedBytes)), std::string::npos);
}

TEST(DecodeBudget, NestedAnnouncementsAreAddedUp) {
  // Each list announces as many items as bytes follow. The first list alone would fit.
  std::string bytes;
  for (int depth = 0; depth < 150; ++depth) bytes.append("\x08\xa0\x8d\x06", 4);  // 100,000
  bytes.append(200'000, '\0');
  const auto value = DecodeValue(bytes);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code(), ErrorCode::kResourceExhausted);
}

TEST(DecodeBudget, TextsAndBytesAreChargedOnce) {
  const std::string bytes = Encoded(Bytes{std::string(8u << 20, 'x')});
  DecodeBudget budget;
  ASSERT_TRUE(DecodeValue(bytes, budget));
  EXPECT_LT(budget.used_bytes(), (8u << 20) + 200u);
}

TEST(DecodeBudget, DecodedBytesEqualsTheChargeOfDecoding) {
  const std::string bytes = Encoded(Sample());
  DecodeBudget budget;
  const auto value = DecodeValue(bytes, budget);
  ASSERT_TRUE(value);
  EXPECT_GT(DecodedBytes(*value), 20 * sizeof(Value));
  EXPECT_LT(DecodedBytes(*value), budget.used_bytes() + 200);
}

TEST(DecodeBudget, ADictHasABoundedNumberOfKeys) {
  const auto dict = [](std::size_t keys) {
    Dict made;
    for (std::size_t i = 0; i < keys; ++i) made.items.emplace_back(std::to_string(i), Value());
    return Encoded(made);
  };
  EXPECT_TRUE(DecodeValue(dict(kMaxDictKeys)));
  const auto refused = DecodeValue(dict(kMaxDictKeys + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
}

TEST(ValueCodec, ADuplicateIsFoundAmongManyKeysOfOneLengthAndStart) {
  Dict dict;
  for (int i = 0; i < 5000; ++i) {
    const std::string number = std::to_string(i);
    dict.items.emplace_back(std::string(100, 'a') + std::string(8 - number.size(), '0') + number,
                            Value());
  }
  EXPECT_EQ(FindTwin(dict), nullptr);
  dict.items.push_back(dict.items[17]);
  ASSERT_NE(FindTwin(dict), nullptr);
  EXPECT_EQ(*FindTwin(dict), *dict.items[17].first.If<std::string>());
}

TEST(ValueCodec, TheFirstItemIsDecodedWithoutTheOthers) {
  std::string bytes = Encoded(List{{Str("send"), List{}, Dict{}}});
  EXPECT_EQ(*DecodeFirstItem(bytes), Str("send"));
  bytes.back() = '\x7f';  // No longer a value.
  EXPECT_EQ(*DecodeFirstItem(bytes), Str("send"));
  EXPECT_FALSE(DecodeFirstItem(Encoded(List{})));
  EXPECT_FALSE(DecodeFirstItem(Encoded(Str("send"))));
  EXPECT_FALSE(DecodeFirstItem(""));
}

TEST(ValueToJson, ManyLargeIntsAreRefusedBecauseTheirDigitsTakeTooLong) {
  List ints;
  ints.items.resize(100, BigInt{std::string(1000, '\x01')});
  EXPECT_TRUE(ToJson(ints));
  ints.items.resize(1000, BigInt{std::string(1000, '\x01')});
  EXPECT_FALSE(ToJson(ints));
}

// Returns the processor time of this thread, so that other programs on the machine do not count.
std::chrono::nanoseconds CpuTime() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

TEST(ValueCodec, KeysThatCollideInAHashAreDecodedAsFastAsOthers) {
  const auto keys = CollidingKeys::Make(15);  // 7.9 MB; 9 s with std::unordered_set.
  ASSERT_EQ(keys.size(), 32'768u);
  EXPECT_EQ(std::hash<std::string>()(keys.front()), std::hash<std::string>()(keys.back()));
  Dict dict;
  for (const std::string& key : keys) dict.items.emplace_back(key, Value());
  const std::string bytes = Encoded(dict);
  const auto start = CpuTime();
  EXPECT_TRUE(DecodeValue(bytes));
  EXPECT_LT(CpuTime() - start, std::chrono::milliseconds(500));
}

}  // namespace
}  // namespace caisson
