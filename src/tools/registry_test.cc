#include "tools/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const Tool> Named(std::string name, std::string description = "") {
  return *Tool::Make({.name = std::move(name), .description = std::move(description)},
                     Inline([](const Dict&) { return Value(); }));
}

std::vector<std::string> NamesOf(const ToolSet& set) {
  std::vector<std::string> names;
  for (const auto& tool : set.tools()) names.push_back(tool->name());
  return names;
}

TEST(ToolRegistryTest, KeepsTheOrderOfAdding) {
  ToolRegistry registry;
  for (const auto name : {"b", "a", "c"}) ASSERT_TRUE(registry.Add(Named(name)));
  EXPECT_THAT(NamesOf(*registry.Snapshot()), ElementsAre("b", "a", "c"));
  EXPECT_FALSE(registry.Add(Named("a")));
  ASSERT_TRUE(registry.Replace(Named("a", "new")));
  EXPECT_THAT(NamesOf(*registry.Snapshot()), ElementsAre("b", "a", "c"));
  EXPECT_EQ(registry.Snapshot()->Find("a")->definition().description, "new");
  ASSERT_TRUE(registry.Remove("b"));
  EXPECT_THAT(NamesOf(*registry.Snapshot()), ElementsAre("a", "c"));
  EXPECT_FALSE(registry.Remove("b"));
  EXPECT_FALSE(registry.Replace(Named("b")));
  registry.Clear();
  EXPECT_THAT(NamesOf(*registry.Snapshot()), ElementsAre());
}

TEST(ToolRegistryTest, ASnapshotDoesNotChangeAndKeepsItsTools) {
  auto registry = std::make_unique<ToolRegistry>();
  ASSERT_TRUE(registry->Add(Named("a", "old")));
  const auto before = registry->Snapshot();
  ASSERT_TRUE(registry->Replace(Named("a", "new")));
  ASSERT_TRUE(registry->Add(Named("b")));
  registry.reset();
  EXPECT_THAT(NamesOf(*before), ElementsAre("a"));
  EXPECT_EQ(before->Find("a")->definition().description, "old");
  EXPECT_EQ(before->Find("b"), nullptr);
}

TEST(ToolRegistryTest, TheErrorListsTheExistingTools) {
  ToolRegistry registry;
  EXPECT_THAT(registry.Snapshot()->NoSuchTool("x").message(), HasSubstr("no tools are configured"));
  ASSERT_TRUE(registry.Add(Named("send_mail")));
  EXPECT_EQ(registry.Snapshot()->NoSuchTool("sendmail").message(),
            "there is no tool \"sendmail\"; did you mean \"send_mail\"? The tools are: send_mail");
}

}  // namespace
}  // namespace caisson
