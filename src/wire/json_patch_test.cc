#include "wire/json_patch.h"

#include <gmock/gmock.h>

#include "wire/json.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kMany = 1u << 20;

Result<Value> Apply(const char* document, const char* patch, std::size_t max_bytes = kMany) {
  return ApplyPatch(*ParseJson(document), *ParseJson(patch)->If<List>(), max_bytes);
}

std::string Patched(const char* document, const char* patch) {
  const auto result = Apply(document, patch);
  return result ? *ToJson(*result) : "failed: " + result.error().message();
}

// The examples of RFC 6902, appendix A.
TEST(JsonPatch, DoesWhatTheSpecificationShows) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])",
       R"({"foo":"bar","baz":"qux"})"},
      {R"({"foo":["bar","baz"]})", R"([{"op":"add","path":"/foo/1","value":"qux"}])",
       R"({"foo":["bar","qux","baz"]})"},
      {R"({"baz":"qux","foo":"bar"})", R"([{"op":"remove","path":"/baz"}])", R"({"foo":"bar"})"},
      {R"({"foo":["bar","qux","baz"]})", R"([{"op":"remove","path":"/foo/1"}])",
       R"({"foo":["bar","baz"]})"},
      {R"({"baz":"qux"})", R"([{"op":"replace","path":"/baz","value":"boo"}])", R"({"baz":"boo"})"},
      {R"({"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}})",
       R"([{"op":"move","from":"/foo/waldo","path":"/qux/thud"}])",
       R"({"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}})"},
      {R"({"foo":["all","grass","cows","eat"]})",
       R"([{"op":"move","from":"/foo/1","path":"/foo/3"}])",
       R"({"foo":["all","cows","eat","grass"]})"},
      {R"({"baz":"qux","foo":["a",2,"c"]})",
       R"([{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2.0}])",
       R"({"baz":"qux","foo":["a",2,"c"]})"},
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/child","value":{"grandchild":{}}}])",
       R"({"foo":"bar","child":{"grandchild":{}}})"},
      {R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10}])", R"({"/":9,"~1":10})"},
      {R"({"foo":["bar"]})", R"([{"op":"add","path":"/foo/-","value":["abc","def"]}])",
       R"({"foo":["bar",["abc","def"]]})"},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":[1]}])", "[1]"},
      {R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/b"}])", R"({"a":[1],"b":[1]})"},
  };
  for (const auto& [document, patch, expected] : cases) {
    EXPECT_EQ(Patched(document, patch), expected) << patch;
  }
}

TEST(JsonPatch, MistakesAreRefused) {
  for (const char* patch :
       {R"([{"op":"add","path":"/baz/bat","value":1}])",
        R"([{"op":"test","path":"/a","value":"1"}])", R"([{"op":"remove","path":"/x"}])",
        R"([{"op":"replace","path":"/x","value":1}])", R"([{"op":"add","path":"/l/3","value":1}])",
        R"([{"op":"add","path":"/l/01","value":1}])", R"([{"op":"add","path":"/l/-1","value":1}])",
        R"([{"op":"remove","path":"/l/-"}])", R"([{"op":"add","path":"a","value":1}])",
        R"([{"op":"add","path":"/~2","value":1}])", R"([{"op":"add","path":"/b"}])",
        R"([{"op":"fly","path":"/a","value":1}])", R"([{"op":"move","from":"/d","path":"/d/e"}])",
        R"([{"path":"/a"}])", R"([{"op":"add"}])", "[1]"}) {
    const auto result = Apply(R"({"a":1,"l":[1,2],"d":{"e":1}})", patch);
    ASSERT_FALSE(result) << patch;
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument) << patch;
  }
}

TEST(JsonPatch, AValueThatCopiesItselfStaysBounded) {
  std::string patch = "[";
  for (int i = 0; i < 60; ++i) {
    patch.append(i == 0 ? "" : ",").append(R"({"op":"copy","from":"","path":"/a/-"})");
  }
  const auto result = Apply(R"({"a":[]})", (patch + "]").c_str(), 100'000);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kResourceExhausted);
}

TEST(JsonPatch, ADifferenceAppliesToItsResult) {
  const char* values[] = {"null",
                          "1",
                          "{}",
                          "[]",
                          R"({"a":1,"b":{"c":[1,2,3]}})",
                          R"({"a":2,"b":{"c":[1,5]},"~/":[]})",
                          R"({"b":{"c":[1,2,3,{"d":null}]}})",
                          "[1,[2],3]",
                          R"(["x"])"};
  for (const char* from : values) {
    for (const char* to : values) {
      const Value wanted = *ParseJson(to);
      const List patch = MakePatch(*ParseJson(from), wanted);
      const auto result = ApplyPatch(*ParseJson(from), patch, kMany);
      ASSERT_TRUE(result) << from << " " << to << ": " << result.error().message();
      EXPECT_EQ(MakePatch(*result, wanted).items.size(), 0u) << from << " " << to;
      EXPECT_EQ(from == std::string_view(to), patch.items.empty());
    }
  }
}

}  // namespace
}  // namespace caisson
