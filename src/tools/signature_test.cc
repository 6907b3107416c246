#include "tools/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/python_names.h"
#include "wire/json.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Signature Make(std::string_view input, std::string name = "send",
               std::string description = "Sends.") {
  const auto schema = Schema::Compile(*ParseJson(input));
  EXPECT_TRUE(schema) << schema.error().message();
  return MakeSignature(std::move(name), std::move(description), *schema, nullptr);
}

std::string Annotation(std::string_view schema) {
  return Make(R"({"required":["x"],"properties":{"x":)" + std::string(schema) + R"(},
               "$defs":{"loop":{"type":"array","items":{"$ref":"#/$defs/loop"}},"n":{"type":"integer"}}})")
      .parameters.at(0)
      .annotation;
}

TEST(SignatureTest, ShowsOptionalParameters) {
  const Signature signature = Make(R"({"type":"object","required":["to"],"properties":{
      "to":{"type":"string","description":"whom"},
      "subject":{"type":"string"},
      "tags":{"type":["array","null"],"items":{"type":"string"},"default":null},
      "n":{"type":"integer","default":3}}})");
  EXPECT_EQ(signature.Call(),
            "send(to: str, subject: str = ..., tags: list[str] | None = None, n: int = 3)");
  EXPECT_EQ(
      signature.Text(),
      "def send(to: str, subject: str = ..., tags: list[str] | None = None, n: int = 3) -> Any:\n"
      "    \"\"\"Sends.\n\n    to: whom\n    \"\"\"\n");
}

TEST(SignatureTest, TheReturnTypeComesFromTheOutputSchema) {
  const auto input = *Schema::Compile(*ParseJson("{}"));
  const auto output = *Schema::Compile(*ParseJson(R"({"type":"object"})"));
  EXPECT_EQ(MakeSignature("f", "", input, &output).Text(), "def f() -> dict:\n    \"\"\"\"\"\"\n");
}

TEST(SignatureTest, WritesSchemasAsPythonTypes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{}", "Any"},
      {"true", "Any"},
      {R"({"type":"number"})", "float"},
      {R"({"type":"boolean"})", "bool"},
      {R"({"type":"array"})", "list"},
      {R"({"type":"array","items":{"type":"array","items":{"type":"integer"}}})",
       "list[list[int]]"},
      {R"({"type":"object"})", "dict"},
      {R"({"type":"object","additionalProperties":{"type":"number"}})", "dict[str, float]"},
      {R"({"type":"object","properties":{"a":{}},"additionalProperties":false})", "dict"},
      {R"({"type":"object","patternProperties":{"^x":{}},"additionalProperties":{"type":"number"}})",
       "dict"},
      {R"({"type":"array","prefixItems":[{}],"items":{"type":"integer"}})", "list"},
      {R"({"type":["null","string"]})", "str | None"},
      {R"({"anyOf":[{"type":"null"},{"type":"integer"},{"type":"integer"}]})", "int | None"},
      {R"({"oneOf":[{"type":"string"},{}]})", "Any"},
      {R"({"enum":["a","b",1,null,true]})", R"(Literal["a", "b", 1, None, True])"},
      {R"({"enum":[[1]]})", "Any"},
      {R"({"const":"x"})", R"(Literal["x"])"},
      {R"({"$ref":"#/$defs/n"})", "int"},
      {R"({"$ref":"#/$defs/loop"})", "list[list[list[list[list[list]]]]]"},
      {R"({"allOf":[{"$ref":"#/$defs/n"},{"minimum":1}]})", "int"},
  };
  for (const auto& [schema, annotation] : cases)
    EXPECT_EQ(Annotation(schema), annotation) << schema;
}

TEST(SignatureTest, RequiredParametersComeFirstAndOtherwiseTheSchemasOrderHolds) {
  const Signature signature = Make(
      R"({"required":["b","z"],"properties":{"x":{},"z":{"type":"string"},"b":{"type":"string"},"a":{}}})");
  EXPECT_EQ(signature.Call(), "send(z: str, b: str, x: Any = ..., a: Any = ...)");
}

TEST(SignatureTest, NamesThatAreNotIdentifiersAreShownAsCallTool) {
  EXPECT_EQ(Make(R"({"required":["from"],"properties":{"from":{"type":"string"}}})").Call(),
            R"(send(**{"from": str}))");
  EXPECT_EQ(Make(R"({"properties":{"path":{"type":"string"}}})", "files.read").Call(),
            R"(call_tool("files.read", {"path": str = ...}))");
  EXPECT_EQ(Make("{}", "open").Call(), R"j(call_tool("open", {}))j");
  EXPECT_EQ(Make(R"({"additionalProperties":true})").Call(), "send(**more)");
}

TEST(SignatureTest, NamesOfFunctions) {
  for (const auto name : {"send", "_x", "read_2", "match"}) EXPECT_TRUE(IsPythonFunctionName(name));
  for (const auto name : {"", "2x", "a-b", "a.b", "class", "None", "list", "print", "call_tool",
                          "ü", "ToolError", "__import__", "a b"}) {
    EXPECT_FALSE(IsPythonFunctionName(name)) << name;
  }
}

// An upstream's text cannot end the docstring and start something else.
TEST(SignatureTest, HostileTextStaysText) {
  const std::string text =
      Make(R"({"properties":{"a":{"description":"x\"\"\"\nimport os\u0007"}}})", "send",
           "\"\"\"\\\nexec(1)\x1b[31m")
          .Text();
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr(R"(\"\"\"\\)"));
  EXPECT_THAT(text, HasSubstr(R"(a: x\"\"\" import os)"));
  EXPECT_LT(Make("{}", "send", std::string(100'000, 'x')).Text().size(), 5000u);
}

TEST(SignatureTest, LiteralsArePython) {
  const auto literal = [](std::string_view json) { return PythonLiteral(*ParseJson(json)); };
  EXPECT_EQ(literal(R"([null,true,{"a":[1.5,"x\"y"]}])"), R"([None, True, {"a": [1.5, "x\"y"]}])");
  EXPECT_EQ(literal("\"" + std::string(200, 'x') + "\""), "...");
  EXPECT_EQ(PythonLiteral(Value(Bytes{"x"})), "...");
}

TEST(SignatureTest, TheGuestGetsItAsAValue) {
  const Signature signature = Make(
      R"({"required":["to"],"properties":{"to":{"type":"string"},"n":{"type":["integer","null"],"default":3}}})");
  EXPECT_EQ(
      *ToJson(signature.Encode()),
      R"({"name":"send","doc":"Sends.","returns":"Any","more":false,"parameters":[)"
      R"(["to","str",0,null,["string"],false],["n","int | None",1,3,["integer","null"],false]]})");
}

}  // namespace
}  // namespace caisson
