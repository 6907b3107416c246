#include "tools/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "wire/json.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Value Json(std::string_view text) {
  auto value = ParseJson(text);
  if (!value) ADD_FAILURE() << value.error().message() << ": " << text;
  return value ? *std::move(value) : Value();
}

// Returns the problems, one per line; "" if there is none.
std::string ProblemsOf(std::string_view schema, const Value& value) {
  const auto compiled = Schema::Compile(Json(schema));
  if (!compiled) return "schema refused: " + compiled.error().message();
  std::string text;
  for (const SchemaProblem& problem : compiled->Check(value)) text += problem.Text() + "\n";
  return text;
}

std::string Problems(std::string_view schema, std::string_view value) {
  return ProblemsOf(schema, Json(value));
}

struct Case {
  std::string_view schema;
  std::vector<std::string_view> valid;
  std::vector<std::string_view> invalid;
};

void Expect(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    for (const auto value : one.valid) {
      EXPECT_EQ(Problems(one.schema, value), "") << one.schema << "  " << value;
    }
    for (const auto value : one.invalid) {
      const std::string problems = Problems(one.schema, value);
      EXPECT_NE(problems, "") << one.schema << "  " << value;
      EXPECT_FALSE(problems.starts_with("schema refused")) << one.schema << problems;
    }
  }
}

TEST(SchemaTest, BooleansAreSchemas) {
  Expect({{"true", {"1", "null", "{}"}, {}}, {"false", {}, {"1", "null"}}, {"{}", {"[]"}, {}}});
}

TEST(SchemaTest, Types) {
  Expect({
      {R"({"type":"null"})", {"null"}, {"0", "false", "\"\"", "[]"}},
      {R"({"type":"boolean"})", {"true", "false"}, {"0", "1", "\"true\""}},
      {R"({"type":"integer"})",
       {"1", "1.0", "-3", "99999999999999999999"},
       {"1.5", "true", "\"1\""}},
      {R"({"type":"number"})", {"1", "1.5", "99999999999999999999"}, {"true", "\"1\"", "null"}},
      {R"({"type":"string"})", {"\"\""}, {"1", "null", "[\"\"]"}},
      {R"({"type":"array"})", {"[]", "[1]"}, {"{}", "\"[]\""}},
      {R"({"type":"object"})", {"{}"}, {"[]", "null"}},
      {R"({"type":["string","null"]})", {"\"a\"", "null"}, {"1"}},
  });
}

TEST(SchemaTest, TypesThatOnlyPythonHas) {
  EXPECT_EQ(ProblemsOf(R"({"type":"array"})", Value(Tuple{{Value(true)}})), "");
  EXPECT_EQ(ProblemsOf(R"({"type":"string"})", Value(Bytes{"x"})), "expected string, got bytes\n");
  EXPECT_EQ(ProblemsOf("{}", Value(Bytes{"x"})), "");
  const Value odd(Dict{{{Value(std::int64_t{1}), Value()}}});
  EXPECT_THAT(ProblemsOf(R"({"type":"object"})", odd), HasSubstr("not str"));
  EXPECT_EQ(ProblemsOf(R"({"properties":{"a":false}})", odd), "");
  const Value nan(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(ProblemsOf(R"({"type":"number"})", nan), "");
  EXPECT_NE(ProblemsOf(R"({"minimum":0})", nan), "");
  EXPECT_NE(ProblemsOf(R"({"maximum":0})", nan), "");
  EXPECT_NE(ProblemsOf(R"({"multipleOf":1})", nan), "");
}

TEST(SchemaTest, EnumAndConst) {
  Expect({
      {R"({"enum":["a",1,null,[1],{"k":1}]})",
       {"\"a\"", "1", "1.0", "null", "[1.0]", "{\"k\":1}"},
       {"\"b\"", "true", "[]", "{}"}},
      {R"({"enum":[]})", {}, {"1", "null"}},
      {R"({"const":0})", {"0", "0.0", "-0"}, {"false", "null"}},
      {R"({"const":{"a":[false]}})", {R"({"a":[false]})"}, {R"({"a":[0]})", "{}"}},
      {R"({"const":null})", {"null"}, {"0"}},
  });
}

TEST(SchemaTest, Numbers) {
  Expect({
      {R"({"minimum":1.5})", {"1.5", "2", "\"a\""}, {"1", "1.4"}},
      {R"({"exclusiveMinimum":1})", {"1.1", "2"}, {"1", "1.0", "0"}},
      {R"({"maximum":3})", {"3", "3.0", "-1"}, {"3.1", "99999999999999999999"}},
      {R"({"exclusiveMaximum":3})", {"2.9"}, {"3", "4"}},
      {R"({"multipleOf":0.01})", {"4.02", "0", "75"}, {"4.021"}},
      {R"({"minimum":-99999999999999999999})", {"-5"}, {"-100000000000000000000"}},
  });
}

TEST(SchemaTest, StringsAreMeasuredInCharacters) {
  Expect({
      {R"({"minLength":2})", {"\"ab\"", "\"üü\"", "1"}, {"\"a\"", "\"ü\"", "\"\""}},
      {R"({"maxLength":2})", {"\"😀😀\"", "\"\""}, {"\"abc\"", "\"😀😀😀\""}},
      {R"({"maxLength":2.0})", {"\"ab\""}, {"\"abc\""}},
  });
}

TEST(SchemaTest, PatternsAreNotAnchored) {
  Expect({
      {R"({"pattern":"b+"})", {"\"abc\"", "1"}, {"\"ac\""}},
      {R"({"pattern":"^\\d{3}$"})", {"\"123\""}, {"\"1234\"", "\"123\\n\""}},
      {R"({"pattern":"^\\u00e9(?<rest>.*)$"})", {"\"été\""}, {"\"ete\""}},
      {R"({"pattern":"\\/x\\."})", {"\"a/x.\""}, {"\"ax\""}},
  });
}

TEST(SchemaTest, Arrays) {
  Expect({
      {R"({"items":{"type":"integer"}})", {"[]", "[1,2]", "{}"}, {"[1,\"a\"]"}},
      {R"({"prefixItems":[{"type":"string"},{"type":"integer"}]})",
       {"[]", "[\"a\"]", "[\"a\",1,null]"},
       {"[1]", "[\"a\",\"b\"]"}},
      {R"({"prefixItems":[true],"items":false})", {"[]", "[1]"}, {"[1,2]"}},
      {R"({"minItems":1,"maxItems":2})", {"[1]", "[1,2]"}, {"[]", "[1,2,3]"}},
      {R"({"uniqueItems":true})",
       {"[1,true]", "[[1],[2]]", "[0,false]", R"([{"a":1},{"a":2}])"},
       {"[1,1.0]", R"([{"a":1,"b":2},{"b":2,"a":1}])", "[[[\"x\"]],[[\"x\"]]]"}},
      {R"({"uniqueItems":false})", {"[1,1]"}, {}},
      {R"({"contains":{"const":5}})", {"[5]", "[1,5,5]"}, {"[]", "[1]"}},
      {R"({"contains":{"const":5},"minContains":2,"maxContains":3})",
       {"[5,5]", "[5,1,5,5]"},
       {"[5]", "[5,5,5,5]"}},
      {R"({"contains":{"const":5},"minContains":0})", {"[]", "[1]"}, {}},
      {R"({"minContains":9})", {"[]"}, {}},  // Has no effect without contains.
  });
}

TEST(SchemaTest, Objects) {
  Expect({
      {R"({"properties":{"a":{"type":"integer"}}})",
       {"{}", R"({"a":1})", R"({"b":"x"})", "[]"},
       {R"({"a":"x"})", R"({"a":null})"}},
      {R"({"required":["a","b"]})", {R"({"a":null,"b":1})", "[]"}, {"{}", R"({"a":1})"}},
      {R"({"patternProperties":{"^n_":{"type":"number"}}})",
       {R"({"n_a":1})", R"({"x":""})"},
       {R"({"n_a":""})"}},
      {R"({"properties":{"a":true},"patternProperties":{"^b":true},"additionalProperties":false})",
       {R"({"a":1,"b1":1})"},
       {R"({"c":1})"}},
      {R"({"additionalProperties":{"type":"integer"},"properties":{"s":{}}})",
       {R"({"s":"x","n":1})"},
       {R"({"n":"x"})"}},
      {R"({"propertyNames":{"maxLength":2}})", {R"({"ab":1})"}, {R"({"abc":1})"}},
      {R"({"minProperties":1,"maxProperties":2})",
       {R"({"a":1})"},
       {"{}", R"({"a":1,"b":2,"c":3})"}},
      {R"({"dependentRequired":{"a":["b"]}})",
       {"{}", R"({"b":1})", R"({"a":1,"b":2})"},
       {R"({"a":1})"}},
      {R"({"dependentSchemas":{"a":{"required":["b"]}}})",
       {R"({"b":1})", R"({"a":1,"b":2})"},
       {R"({"a":1})"}},
  });
}

TEST(SchemaTest, Combinations) {
  Expect({
      {R"({"allOf":[{"minimum":1},{"maximum":3}]})", {"2"}, {"0", "4"}},
      {R"({"anyOf":[{"type":"string"},{"minimum":3}]})", {"\"a\"", "3"}, {"2"}},
      {R"({"oneOf":[{"multipleOf":2},{"multipleOf":3}]})", {"2", "3"}, {"6", "5"}},
      {R"({"not":{"type":"null"}})", {"1"}, {"null"}},
      {R"({"if":{"minimum":10},"then":{"multipleOf":10},"else":{"multipleOf":2}})",
       {"20", "4"},
       {"15", "3"}},
      {R"({"if":{"const":1}})", {"1", "2"}, {}},
      {R"({"then":false,"else":false})", {"1"}, {}},
  });
}

TEST(SchemaTest, References) {
  Expect({
      {R"({"$ref":"#/$defs/n","maximum":5,"$defs":{"n":{"type":"integer"}}})",
       {"5"},
       {"6", "\"a\""}},
      {R"({"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}},"additionalProperties":false})",
       {R"({"v":1,"next":{"v":2,"next":{}}})"},
       {R"({"next":{"next":{"v":"x"}}})", R"({"next":{"w":1}})"}},
      {R"({"$ref":"#node","$defs":{"x":{"$anchor":"node","type":"array"}}})", {"[]"}, {"{}"}},
      {R"({"$ref":"#/$defs/a~1b/items","$defs":{"a/b":{"items":{"type":"null"}}}})",
       {"null"},
       {"1"}},
      {R"({"$ref":"#/$defs/per%25cent%22","$defs":{"per%cent\"":{"type":"null"}}})",
       {"null"},
       {"1"}},
      {R"({"$ref":"#/odd/0","odd":[{"type":"string"}]})", {"\"\""}, {"1"}},
      {R"({"$dynamicRef":"#t","$defs":{"t":{"$dynamicAnchor":"t","minimum":2}}})", {"2"}, {"1"}},
      {R"({"properties":{"$ref":{"type":"string"}}})", {R"({"$ref":"a"})"}, {R"({"$ref":1})"}},
  });
}

TEST(SchemaTest, Unevaluated) {
  Expect({
      {R"({"allOf":[{"properties":{"a":true}}],"properties":{"b":true},"unevaluatedProperties":false})",
       {R"({"a":1,"b":2})"},
       {R"({"c":1})"}},
      {R"({"anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},
                    {"properties":{"b":{"const":2}},"required":["b"]}],"unevaluatedProperties":false})",
       {R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"},
       {R"({"a":1,"b":3})", R"({"a":1,"c":1})"}},
      {R"({"if":{"properties":{"k":{"const":"x"}},"required":["k"]},"then":{"properties":{"x":true}},
           "unevaluatedProperties":false})",
       {R"({"k":"x","x":1})"},
       {R"({"k":"y","x":1})"}},
      {R"({"$ref":"#/$defs/b","unevaluatedProperties":{"type":"null"},"$defs":{"b":{"properties":{"a":true}}}})",
       {R"({"a":1,"z":null})"},
       {R"({"z":1})"}},
      {R"({"not":{"properties":{"a":false}},"unevaluatedProperties":false})", {}, {R"({"a":1})"}},
      {R"({"prefixItems":[true],"unevaluatedItems":false})", {"[1]"}, {"[1,2]"}},
      {R"({"allOf":[{"prefixItems":[true,true]}],"unevaluatedItems":{"type":"null"}})",
       {"[1,2,null]"},
       {"[1,2,3]"}},
      {R"({"contains":{"const":1},"unevaluatedItems":false})", {"[1,1]"}, {"[1,2]"}},
      {R"({"allOf":[{"additionalProperties":true}],"unevaluatedProperties":false})",
       {R"({"q":1})"},
       {}},
      {R"({"properties":{"o":{"properties":{"a":true}}},"unevaluatedProperties":false})",
       {R"({"o":{"x":1}})"},  // The properties of a child are evaluated separately.
       {R"({"a":1})"}},
  });
}

TEST(SchemaTest, FormatAndUnknownKeywordsAreAnnotations) {
  Expect(
      {{R"({"format":"email","x-own":{"type":"string"},"nullable":true})", {"1", "\"no\""}, {}}});
}

TEST(SchemaTest, ProblemsNameThePlaceAndTheReason) {
  EXPECT_EQ(
      Problems(R"({"properties":{"items":{"items":{"properties":{"price":{"type":"number"}}}}}})",
               R"({"items":[{"price":"3"}]})"),
      "/items/0/price: expected number, got string\n");
  EXPECT_EQ(Problems(R"({"type":["string","null"]})", "1"),
            "expected string or null, got integer\n");
  EXPECT_EQ(
      Problems(R"({"required":["a","b"],"properties":{"c":{"enum":["x","y"]}}})", R"({"c":"z"})"),
      "\"a\" is missing\n\"b\" is missing\n/c: must be one of \"x\", \"y\"\n");
  EXPECT_EQ(
      Problems(R"({"anyOf":[{"type":"string"},{"properties":{"a":{"maximum":3}}}]})", R"({"a":4})"),
      "fits no alternative: expected string, got object, or /a: must be at most 3\n");
  EXPECT_EQ(Problems(R"({"properties":{"a/b~c":{"minLength":1}}})", R"({"a/b~c":""})"),
            "/a~1b~0c: must have at least 1 character\n");
  EXPECT_EQ(Problems(R"({"additionalProperties":false})", R"({"x":1})"),
            "/x: is not allowed here\n");
}

TEST(SchemaTest, RefusesInvalidSchemas) {
  for (const std::string_view schema : {"1",
                                        "[]",
                                        "null",
                                        R"({"type":"text"})",
                                        R"({"type":1})",
                                        R"({"minimum":"1"})",
                                        R"({"multipleOf":0})",
                                        R"({"multipleOf":-1})",
                                        R"({"minLength":-1})",
                                        R"({"maxItems":1.5})",
                                        R"({"pattern":"("})",
                                        R"({"pattern":1})",
                                        R"j({"pattern":"(?=a)"})j",
                                        R"j({"pattern":"(a)\\1"})j",
                                        R"({"enum":"a"})",
                                        R"({"required":"a"})",
                                        R"({"required":[1]})",
                                        R"({"properties":[]})",
                                        R"({"properties":{"a":1}})",
                                        R"({"items":[{}]})",
                                        R"({"allOf":[]})",
                                        R"({"allOf":{}})",
                                        R"({"uniqueItems":1})",
                                        R"({"$ref":"#/nowhere"})",
                                        R"({"$ref":"https://example.com/x"})",
                                        R"({"$ref":"#nobody"})",
                                        R"({"$ref":"other.json"})",
                                        R"({"$ref":1})",
                                        R"({"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}})",
                                        R"({"dependentRequired":{"a":"b"}})"}) {
    EXPECT_FALSE(Schema::Compile(Json(schema))) << schema;
  }
  EXPECT_EQ(Problems(R"({"properties":{"a":{"minimum":"1"}}})", "1"),
            "schema refused: schema /properties/a/minimum: must be a number");
}

// Checks of hostile schemas and values end, with a problem.
TEST(SchemaTest, WorkIsBounded) {
  const std::string tired = "checking it against the schema takes too much work\n";
  EXPECT_EQ(Problems(R"({"$ref":"#"})", "1"), tired);
  EXPECT_EQ(Problems(R"({"allOf":[{"$ref":"#"},{"$ref":"#"}]})", "1"), tired);
  EXPECT_EQ(Problems(R"({"not":{"$ref":"#"}})", "1"), tired);
  EXPECT_EQ(Problems(R"({"anyOf":[true,{"$ref":"#"}],"unevaluatedItems":false})", "[]"), tired);
  const std::string fan = R"({"allOf":[{"$ref":"#/$defs/1"},{"$ref":"#/$defs/1"}],"$defs":{)";
  std::string defs;
  for (int i = 1; i < 40; ++i) {
    const std::string next = "{\"$ref\":\"#/$defs/" + std::to_string(i + 1) + "\"}";
    defs += "\"" + std::to_string(i) + "\":{\"allOf\":[" + next + "," + next + "]},";
  }
  EXPECT_EQ(Problems(fan + defs + "\"40\":true}}", "1"), tired);
  const Value many(List{std::vector<Value>(2'000'000)});
  EXPECT_EQ(ProblemsOf(R"({"items":{"type":"null"}})", many), tired);
  EXPECT_EQ(ProblemsOf(R"({"type":"array"})", many), "");
}

TEST(SchemaTest, FitsReturnsNulloptWhenItTakesTooMuchWork) {
  const auto fits = [](std::string_view schema) {
    return Schema::Compile(Json(schema))->Fits(Value(std::int64_t{1}));
  };
  EXPECT_EQ(fits(R"({"minimum":1})"), true);
  EXPECT_EQ(fits(R"({"minimum":2})"), false);
  EXPECT_EQ(fits(R"({"$ref":"#"})"), std::nullopt);
}

TEST(SchemaTest, PatternsTakeLinearTime) {
  const std::string text(200'000, 'a');
  EXPECT_NE(ProblemsOf(R"({"pattern":"^(a+)+$"})", Value(text + "b")), "");
}

TEST(SchemaTest, DepthIsBounded) {
  std::string schema = "true";
  for (int i = 0; i < 99; ++i) schema = "{\"not\":" + schema + "}";
  EXPECT_TRUE(Schema::Compile(Json(schema)));
  EXPECT_FALSE(Schema::Compile(Json("{\"not\":{\"not\":" + schema + "}}")));
  std::string deep = "1";
  for (int i = 0; i < 199; ++i) deep = "[" + deep + "]";
  EXPECT_EQ(Problems(R"({"items":{"$ref":"#"}})", deep), "");
}

TEST(SchemaTest, CopiesShareAndOutlive) {
  std::vector<Schema> copies;
  {
    const auto schema =
        Schema::Compile(Json(R"({"$ref":"#/$defs/a","$defs":{"a":{"minimum":2}}})"));
    copies.push_back(*schema);
  }
  EXPECT_THAT(copies[0].Check(Value(std::int64_t{3})), IsEmpty());
  ASSERT_EQ(copies[0].Check(Value(std::int64_t{1})).size(), 1u);
  EXPECT_EQ(*ToJson(*copies[0].Resolve("#/$defs/a")), R"({"minimum":2})");
  EXPECT_EQ(copies[0].Resolve("#/nowhere"), nullptr);
}

}  // namespace
}  // namespace caisson
