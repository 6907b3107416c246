#include "workflow/arguments_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/json.h"
#include "wire/object.h"

namespace caisson {
namespace {

using testing::HasSubstr;

Value Json(std::string_view text) {
  return *ParseJson(text);
}

TEST(ArgumentsTemplateTest, CopiesPartsOfTheMessageAndOfTheState) {
  const auto filled = FillTemplate(
      Json(
          R"({"to": "ann", "all": {"$message": ""}, "x": [{"$message": "/a/1"}], "t": {"$state": "/k~1e/y"}})"),
      Json(R"({"a": [1, {"deep": true}]})"), Object({{"k/e", Json(R"({"y": 7})")}}));
  ASSERT_TRUE(filled);
  EXPECT_EQ(*filled,
            Json(R"({"to":"ann","all":{"a":[1,{"deep":true}]},"x":[{"deep":true}],"t":7})"));
}

TEST(ArgumentsTemplateTest, DoesNotFollowReferencesInsideOfMessages) {
  const auto filled = FillTemplate(Json(R"({"x": {"$message": ""}})"),
                                   Json(R"({"$state": "/secret"})"), Object({{"secret", "s"}}));
  EXPECT_EQ(*filled, Json(R"({"x": {"$state": "/secret"}})"));
}

TEST(ArgumentsTemplateTest, NamesAPartThatDoesNotExist) {
  for (const char* pointer : {"/b", "/a/2", "/a/01", "/a/x", "/a/0/z", "/a/-1"}) {
    const Value arguments(Object({{"x", Value(Object({{"$message", pointer}}))}}));
    const auto filled = FillTemplate(arguments, Json(R"({"a": [1, 2]})"), {});
    ASSERT_FALSE(filled) << pointer;
    EXPECT_THAT(filled.error().message(), HasSubstr(std::string("nothing at \"") + pointer));
  }
}

TEST(ArgumentsTemplateTest, RefusesWhatIsNoPointer) {
  EXPECT_TRUE(CheckTemplate(Json(R"({"x": {"$message": "/a~0"}})")));
  EXPECT_FALSE(CheckTemplate(Json(R"({"x": {"$message": "a"}})")));
  EXPECT_FALSE(CheckTemplate(Json(R"({"x": {"$state": "/a~2"}})")));
  EXPECT_FALSE(CheckTemplate(Json(R"({"x": [{"$state": 7}]})")));
  EXPECT_FALSE(CheckTemplate(Json("[]")));
}

}  // namespace
}  // namespace caisson
