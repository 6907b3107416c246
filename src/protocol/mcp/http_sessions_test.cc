#include "protocol/mcp/http_sessions.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "identity/identity.h"

namespace caisson::mcp {
namespace {

Principal Of(const std::string& user) {
  return {.owner = IsolationKey(*Identity::Create({.user = user}))};
}

class HttpSessionsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Begin(const std::string& user, int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) ids.push_back(sessions_.Begin(Of(user)).id);
    return ids;
  }
  bool Has(const std::string& user, const std::string& id) {
    return sessions_.Find(Of(user).owner, id) != nullptr;
  }

  asio::io_context context_;
  HttpSessions sessions_{context_.get_executor(), {.sessions = 20, .of_one_owner = 6}};
};

TEST_F(HttpSessionsTest, AFullServerHasRoomForOthers) {
  const auto ann = Begin("ann", 2);
  for (const char* hog : {"h1", "h2", "h3", "h4"}) Begin(hog, 6);
  const auto bob = Begin("bob", 3);
  for (const auto& id : ann) EXPECT_TRUE(Has("ann", id));
  for (const auto& id : bob) EXPECT_TRUE(Has("bob", id));
}

TEST_F(HttpSessionsTest, TheOwnerOfMostLosesTheOneThatWasUnusedLongest) {
  const auto hog = Begin("hog", 6);
  for (const char* user : {"u1", "u2", "u3"}) Begin(user, 4);
  const auto first = Begin("u4", 2);
  EXPECT_TRUE(Has("hog", hog[0]));  // A use: now the second is the oldest.
  const auto more = Begin("u5", 1);
  EXPECT_FALSE(Has("hog", hog[1]));
  EXPECT_TRUE(Has("hog", hog[2]));
  EXPECT_TRUE(Has("hog", hog[5]));
  EXPECT_TRUE(Has("u4", first[0]));
  EXPECT_TRUE(Has("u5", more[0]));
}

TEST_F(HttpSessionsTest, AnOwnerWithTooManyLosesTheirOwn) {
  const auto ann = Begin("ann", 2);
  const auto hog = Begin("hog", 7);
  EXPECT_FALSE(Has("hog", hog[0]));
  EXPECT_TRUE(Has("hog", hog[6]));
  for (const auto& id : ann) EXPECT_TRUE(Has("ann", id));
}

TEST_F(HttpSessionsTest, OthersCanNeitherUseNorEndASession) {
  const auto ann = Begin("ann", 1);
  EXPECT_FALSE(Has("bob", ann[0]));
  EXPECT_FALSE(sessions_.End(Of("bob").owner, ann[0]));
  EXPECT_TRUE(sessions_.End(Of("ann").owner, ann[0]));
  EXPECT_FALSE(Has("ann", ann[0]));
  EXPECT_FALSE(sessions_.End(Of("ann").owner, ann[0]));
}

}  // namespace
}  // namespace caisson::mcp
