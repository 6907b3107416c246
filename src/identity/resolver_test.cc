#include "identity/resolver.h"

#include <gtest/gtest.h>

#include "identity/local_resolver.h"
#include "identity/resolver_for_test.h"

namespace caisson {
namespace {

// Returns a fixed result.
class FixedResolver final : public IdentityResolver {
 public:
  FixedResolver(Isolation isolation, Result<std::optional<Identity>> answer)
      : IdentityResolver(isolation), answer_(std::move(answer)) {}

 private:
  asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin) const override {
    co_return answer_;
  }
  const Result<std::optional<Identity>> answer_;
};

TEST(ResolverTest, StrictRefusesARequestThatSaysNothing) {
  const FixedResolver strict(Isolation::kRequired, std::optional<Identity>());
  EXPECT_EQ(ResolveNow(strict, {}).error().code(), ErrorCode::kUnauthenticated);
}

TEST(ResolverTest, WithoutStrictItIsNobody) {
  const FixedResolver lenient(Isolation::kOptional, std::optional<Identity>());
  EXPECT_TRUE(ResolveNow(lenient, {})->is_none());
}

TEST(ResolverTest, AWrongWordIsRefusedEvenWithoutStrict) {
  const FixedResolver lenient(Isolation::kOptional, Error(ErrorCode::kUnauthenticated, "wrong"));
  EXPECT_EQ(Told(ResolveNow(lenient, {})), "unauthenticated: wrong");
}

TEST(ResolverTest, LocalServesThisMachineAlone) {
  const LocalResolver local;
  for (const char* peer : {"127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_EQ(Told(ResolveNow(local, RequestFrom(peer))), R"([null,"local",null])") << peer;
  }
  EXPECT_TRUE(ResolveNow(local, {}));  // stdin
  for (const char* peer :
       {"192.0.2.1", "10.0.0.1", "fe80::1", "::ffff:192.0.2.1", "::", "0.0.0.0"}) {
    EXPECT_FALSE(ResolveNow(local, RequestFrom(peer))) << peer;
  }
}

TEST(ResolverTest, BearerIsReadWithoutCaseOfNameAndScheme) {
  EXPECT_EQ(**BearerToken(RequestFrom("::1", {{"aUTHORIZATION", "bEARER abc.d-e_f~+/="}})),
            "abc.d-e_f~+/=");
  EXPECT_EQ(*BearerToken(RequestFrom("::1", {{"X", "y"}})), std::nullopt);
}

TEST(ResolverTest, OddAuthorizationsAreRefused) {
  for (const std::string& value :
       {std::string("Basic abc"), std::string("Bearer"), std::string("Bearer "), std::string(""),
        std::string("Bearer  abc"), std::string("Bearer a b"), std::string("Bearer\tabc"),
        std::string("Bearer abc\n"), std::string("Bearer a\0b", 10), std::string("Bearer a,b"),
        "Bearer " + std::string(16 * 1024 + 1, 'a')}) {
    EXPECT_FALSE(BearerToken(RequestFrom("::1", {{"Authorization", value}})))
        << value.substr(0, 40);
  }
}

TEST(ResolverTest, ADuplicateHeaderIsRefused) {
  EXPECT_FALSE(BearerToken(
      RequestFrom("::1", {{"Authorization", "Bearer a"}, {"authorization", "Bearer a"}})));
}

}  // namespace
}  // namespace caisson
