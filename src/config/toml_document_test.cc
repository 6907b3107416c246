#include "config/toml_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/json.h"

namespace caisson {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(TomlDocumentTest, NamesTheLineOfEachPart) {
  const auto located = ParseLocatedToml(R"(name = "x"
[[edge]]
from = "a"
to = ["b",
  "c"]
[[edge]]
from = "c"
)",
                                        "w.toml");
  ASSERT_TRUE(located);
  EXPECT_EQ(located->value,
            *ParseJson(R"({"name":"x","edge":[{"from":"a","to":["b","c"]},{"from":"c"}]})"));
  EXPECT_EQ(located->LineOf("/name"), 1u);
  EXPECT_EQ(located->LineOf("/edge/0"), 2u);
  EXPECT_EQ(located->LineOf("/edge/0/to/1"), 5u);
  EXPECT_EQ(located->LineOf("/edge/1/from"), 7u);
}

TEST(TomlDocumentTest, NamesTheLineOfAMistake) {
  EXPECT_THAT(ParseLocatedToml("a = 1\nb = = 2", "w.toml").error().message(),
              StartsWith("w.toml:2: "));
}

TEST(TomlDocumentTest, RefusesDates) {
  EXPECT_THAT(ParseLocatedToml("a = 2020-01-01", "w.toml").error().message(), HasSubstr("dates"));
}

}  // namespace
}  // namespace caisson
