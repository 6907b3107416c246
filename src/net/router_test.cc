#include "net/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(Target, IsSegmentsAndPairsDecoded) {
  const auto target = ParseTarget("/v1/a%2Fb/%C3%A9?x=1+2&y=%2B&flag&&x=3");
  ASSERT_TRUE(target);
  EXPECT_THAT(target->segments, ElementsAre("v1", "a/b", "é"));
  EXPECT_THAT(target->query,
              ElementsAre(Pair("x", "1 2"), Pair("y", "+"), Pair("flag", ""), Pair("x", "3")));
  EXPECT_TRUE(ParseTarget("/")->segments.empty());
}

TEST(Target, AmbiguousTargetsAreRefused) {
  for (const char* text :
       {"", "v1", "*", "http://other/", "/a//b", "/a/", "/..", "/a/%2e%2E/b", "/a/./b", "/%", "/%4",
        "/%zz", "/a%00b", "/a?x=%0d%0a", "/%ff", "/a#b", "/a?x=%"}) {
    const auto target = ParseTarget(text);
    ASSERT_FALSE(target) << text;
    EXPECT_EQ(target.error().code(), ErrorCode::kInvalidArgument) << text;
    EXPECT_THAT(target.error().message(), HasSubstr("the request target")) << text;
  }
}

Router SomeRoutes() {
  Router router;
  const Handler none = [](Exchange&) -> asio::awaitable<void> { co_return; };
  router.Add("GET", "/runs/{id}", none);
  router.Add("GET", "/runs", none);
  router.Add("POST", "/runs", none);
  router.Add("GET", "/runs/latest", none);
  router.Add("GET", "/runs/{id}/files/{n}", none);
  return router;
}

Router::Found Find(std::string_view method, std::string_view path) {
  static const Router router = SomeRoutes();
  return router.Find(method, *ParseTarget(path));
}

TEST(Router, ParametersAreTheSegmentsInTheirPlace) {
  const auto found = Find("GET", "/runs/a%2Fb/files/2");
  const auto* match = std::get_if<Router::Match>(&found);
  ASSERT_NE(match, nullptr);
  EXPECT_EQ(match->route->pattern, "/runs/{id}/files/{n}");
  EXPECT_THAT(match->parameters, ElementsAre(Pair("id", "a/b"), Pair("n", "2")));
}

TEST(Router, SpelledOutGoesBeforeParameter) {
  const auto found = Find("GET", "/runs/latest");
  EXPECT_EQ(std::get<Router::Match>(found).route->pattern, "/runs/latest");
}

TEST(Router, HeadIsServedByGet) {
  const auto found = Find("HEAD", "/runs/x");
  EXPECT_EQ(std::get<Router::Match>(found).route->pattern, "/runs/{id}");
}

TEST(Router, WrongMethodsAreToldTheRightOnes) {
  const auto found = Find("DELETE", "/runs");
  EXPECT_EQ(std::get<Router::WrongMethod>(found).allow, "GET, HEAD, POST");
}

TEST(Router, OtherPathsAreNotThere) {
  for (const char* path : {"/", "/runs/a/b", "/run", "/runs/a/files"}) {
    EXPECT_TRUE(std::holds_alternative<Router::NoSuchPath>(Find("GET", path))) << path;
  }
}

}  // namespace
}  // namespace caisson::net
