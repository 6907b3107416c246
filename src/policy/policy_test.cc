#include "policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "policy/lists.h"
#include "policy/toml.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string ErrorOf(std::string_view text) {
  const auto policy = ParsePolicyText(text);
  return policy ? "fine" : policy.error().message();
}

Value Names(std::initializer_list<const char*> names) {
  List list;
  for (const char* name : names) list.items.emplace_back(std::string(name));
  return list;
}

TEST(PolicyText, AnEmptyTextIsStrict) {
  EXPECT_EQ(*ParsePolicyText(""), Policy{});
  EXPECT_EQ(ParsePolicyText("preset = 'open'")->preset, PolicyPreset::kOpen);
}

TEST(PolicyText, ReplacesAndExtendsLists) {
  const auto policy = ParsePolicyText(R"(
    [policy]
    preset = "strict"
    imports = ["json", "xml.dom"]
    allow_builtins = ["vars"]
    block_nodes = ["ClassDef"]
    os_attributes = []
    block_attributes = ["__dict__"]
  )");
  ASSERT_TRUE(policy) << policy.error().message();
  EXPECT_THAT(*policy->imports.instead, ElementsAre("json", "xml.dom"));
  EXPECT_THAT(policy->builtins.allow, ElementsAre("vars"));
  EXPECT_FALSE(policy->builtins.instead);
  EXPECT_THAT(policy->nodes.block, ElementsAre("ClassDef"));
  EXPECT_TRUE(policy->os_attributes.instead->empty()) << "an empty list is a list";
}

TEST(PolicyText, MistakesAreErrors) {
  EXPECT_EQ(ErrorOf("alow_imports = []"),
            R"(policy.alow_imports is not known; did you mean "allow_imports"?)");
  EXPECT_EQ(ErrorOf("colour = 1"), "policy.colour is not known");
  EXPECT_EQ(ErrorOf("preset = 'lax'"), R"(policy.preset must be "strict" or "open")");
  EXPECT_EQ(ErrorOf("imports = 'json'"), "policy.imports must be a list of names");
  EXPECT_EQ(ErrorOf("imports = [1]"), "policy.imports must be a list of names");
  EXPECT_EQ(ErrorOf("block_nodes = ['Class']"),
            R"(policy.block_nodes has "Class", which is not a kind of syntax tree node)");
  for (const char* name : {"", ".", "a.", ".a", "a..b", "1a", "a b", "a-b", "a.1"}) {
    EXPECT_THAT(ErrorOf(std::string("imports = ['") + name + "']"), HasSubstr("no name")) << name;
  }
  EXPECT_THAT(ErrorOf("builtins = ['a.b']"), HasSubstr("no name"));
  EXPECT_THAT(ErrorOf("preset = 'open'\nallow_imports = ['sys']"), HasSubstr("no effect"));
  EXPECT_THAT(ErrorOf("a = \nb"), HasSubstr("line 1: "));
  EXPECT_THAT(ErrorOf(std::string(10'000, 'a') + " = 1"), HasSubstr("is not known"));
}

TEST(PolicyEncoding, IsOneNumberUnlessListsWereChanged) {
  EXPECT_EQ(EncodePolicy({}), Value(std::int64_t{1}));
  EXPECT_EQ(EncodePolicy({.preset = PolicyPreset::kOpen}), Value(std::int64_t{0}));
  const Value lists = EncodePolicy(
      {.imports = {.instead = {{"json"}}, .block = {"sys"}}, .nodes = {.allow = {"With"}}});
  const Dict* dict = lists.If<Dict>();
  ASSERT_NE(dict, nullptr);
  ASSERT_EQ(dict->items.size(), 3U);
  EXPECT_EQ(*dict->Find("imports"), Names({"json"}));
  EXPECT_EQ(*dict->Find("block_imports"), Names({"sys"}));
  EXPECT_EQ(*dict->Find("allow_nodes"), Names({"With"}));
}

TEST(Policy, ConflictsAreNamed) {
  const Policy policy = {.imports = {.instead = {{"json"}}, .block = {"json", "sys"}},
                         .builtins = {.allow = {"vars"}, .block = {"vars"}}};
  EXPECT_THAT(PolicyConflicts(policy), ElementsAre("imports: json", "builtins: vars"));
  EXPECT_TRUE(PolicyConflicts({}).empty());
}

TEST(Policy, DescribesItself) {
  EXPECT_THAT(DescribePolicy({}), HasSubstr("json, keyword"));
  const std::string changed = DescribePolicy(
      {.imports = {.allow = {"sys"}, .block = {"json"}}, .os_attributes = {.instead = {{}}}});
  EXPECT_THAT(changed, HasSubstr("sys, "));
  EXPECT_THAT(changed, Not(HasSubstr(" json,")));
  EXPECT_THAT(changed, HasSubstr("Of os only: none"));
  EXPECT_THAT(DescribePolicy({.preset = PolicyPreset::kOpen}), HasSubstr("Any Python"));
}

TEST(Policy, NamesThePackagesThatAreThere) {
  const std::vector<std::string> packages{"numpy", "pandas"};
  EXPECT_THAT(DescribePolicy({}, packages), HasSubstr("these packages: numpy, pandas"));
  EXPECT_THAT(DescribePolicy({.imports = {.block = {"numpy"}}}, packages), Not(HasSubstr("numpy")));
  EXPECT_THAT(DescribePolicy({.preset = PolicyPreset::kOpen}, packages), HasSubstr("numpy"));
}

TEST(PolicyLists, HaveNoNameTwice) {
  for (const char* const* list :
       {caisson_strict_imports, caisson_strict_builtins, caisson_strict_os_attributes,
        caisson_strict_attributes, caisson_nodes}) {
    for (; list[0] != nullptr && list[1] != nullptr; ++list) {
      EXPECT_LT(std::strcmp(list[0], list[1]), 0) << list[1];
    }
  }
  for (const CaissonRefusal* list :
       {caisson_refused_attributes, caisson_refused_members, caisson_import_hints,
        caisson_builtin_hints, caisson_os_hints, caisson_attribute_hints}) {
    for (; list[0].name != nullptr && list[1].name != nullptr; ++list) {
      EXPECT_LT(std::strcmp(list[0].name, list[1].name), 0) << list[1].name;
    }
  }
}

}  // namespace
}  // namespace caisson
