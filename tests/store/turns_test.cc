// Turns under way: leases, events, conversations.
#include <gmock/gmock.h>

#include "tests/store/backend.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TurnStoreTest : public StoreTest {
 protected:
  TurnStore& turns() { return store_->turns(); }
  Result<Lease> Begin(const char* id, const char* holder = "a") {
    return Now(turns().Begin(ann_, {.id = ResponseId(id), .body = "begun", .created_at = kNow},
                             Term(holder)));
  }
  std::vector<std::string> ToTake(SystemTime now) {
    std::vector<std::string> ids;
    for (const OwnedTurn& turn : *Now(store_->maintenance().TurnsToTake(now, 10))) {
      EXPECT_EQ(turn.owner, ann_);
      ids.push_back(turn.turn.str());
    }
    return ids;
  }
};

TEST_P(TurnStoreTest, OnlyTheHolderChangesATurn) {
  const ResponseId id("t");
  const auto lease = Begin("t");
  ASSERT_TRUE(lease) << Why(lease);
  EXPECT_EQ(Begin("t").error().code(), ErrorCode::kFailedPrecondition);
  ASSERT_TRUE(Now(turns().Append(ann_, id, *lease, {.first = 0, .bodies = {"e0", "e1"}})));
  ASSERT_TRUE(Now(turns().Replace(ann_, id, *lease, "step", kNow)));
  EXPECT_EQ(Now(store_->responses().Find(ann_, id))->body, "step");
  EXPECT_THAT(ToTake(kNow), IsEmpty());
  EXPECT_FALSE(Now(turns().Claim(ann_, id, Term("b"))));

  const SystemTime later = After(std::chrono::seconds(31));
  EXPECT_THAT(ToTake(later), ElementsAre("t"));
  EXPECT_FALSE(Now(turns().Claim(bob_, id, Term("b", later))));
  const auto claimed = Now(turns().Claim(ann_, id, Term("b", later)));
  ASSERT_TRUE(claimed) << Why(claimed);
  EXPECT_EQ(claimed->attempts, 1);
  const auto outdated = Now(turns().Replace(ann_, id, *lease, "late", later));
  EXPECT_EQ(outdated.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_FALSE(Now(turns().Append(ann_, id, *lease, {.first = 2, .bodies = {"late"}})));
  EXPECT_FALSE(Now(turns().End(ann_, id, *lease, "late", {}, later)));
  ASSERT_TRUE(Now(turns().Release(ann_, id, *lease)));  // Nothing of the new holder's.
  EXPECT_THAT(ToTake(later), IsEmpty());

  ASSERT_TRUE(
      Now(turns().End(ann_, id, claimed->lease, "end", {.first = 2, .bodies = {"e2"}}, later)));
  EXPECT_EQ(Now(store_->responses().Find(ann_, id))->body, "end");
  EXPECT_THAT(*Now(turns().Events(ann_, id, 1, 10)), ElementsAre("e1", "e2"));
  EXPECT_THAT(*Now(turns().Events(bob_, id, 0, 10)), IsEmpty());
  EXPECT_THAT(ToTake(After(std::chrono::hours(1))), IsEmpty());
  EXPECT_FALSE(Now(turns().Claim(ann_, id, Term("c", After(std::chrono::hours(1))))));
  ASSERT_TRUE(Now(store_->responses().Remove(ann_, id)));
  EXPECT_THAT(*Now(turns().Events(ann_, id, 0, 10)), IsEmpty());
}

TEST_P(TurnStoreTest, LeasesAreRenewedAndGivenBack) {
  const auto lease = Begin("t");
  ASSERT_TRUE(Now(store_->maintenance().RenewTurns("a", After(std::chrono::minutes(5)))));
  EXPECT_THAT(ToTake(After(std::chrono::minutes(4))), IsEmpty());
  ASSERT_TRUE(Now(turns().Release(ann_, ResponseId("t"), *lease)));
  EXPECT_THAT(ToTake(kNow), ElementsAre("t"));
  for (std::int64_t attempt = 1; attempt < 4; ++attempt) {
    const auto claimed = Now(turns().Claim(ann_, ResponseId("t"), Term("b")));
    EXPECT_EQ(claimed->attempts, attempt);
    ASSERT_TRUE(Now(turns().Release(ann_, ResponseId("t"), claimed->lease)));
  }
  const auto claimed = Now(turns().Claim(ann_, ResponseId("t"), Term("b")));
  ASSERT_TRUE(Now(turns().Replace(ann_, ResponseId("t"), claimed->lease, "progress", kNow)));
  ASSERT_TRUE(Now(turns().Release(ann_, ResponseId("t"), claimed->lease)));
  EXPECT_EQ(Now(turns().Claim(ann_, ResponseId("t"), Term("b")))->attempts, 1);
}

TEST_P(TurnStoreTest, ARequestToCancelFindsTheHolder) {
  ASSERT_TRUE(Begin("t"));
  EXPECT_THAT(*Now(store_->maintenance().TurnsToCancel("a", 10)), IsEmpty());
  ASSERT_TRUE(Now(turns().AskToCancel(bob_, ResponseId("t"), kNow)));
  EXPECT_THAT(*Now(store_->maintenance().TurnsToCancel("a", 10)), IsEmpty());
  ASSERT_TRUE(Now(turns().AskToCancel(ann_, ResponseId("t"), kNow)));
  EXPECT_EQ(Now(store_->maintenance().TurnsToCancel("a", 10))->size(), 1u);
  EXPECT_THAT(*Now(store_->maintenance().TurnsToCancel("b", 10)), IsEmpty());
}

TEST_P(TurnStoreTest, AConversationHasOneTurnAtATime) {
  const ConversationId id("c");
  const auto enter = [&](const IsolationKey& owner, const char* turn, SystemTime now) {
    return Now(turns().EnterConversation(owner, id, ResponseId(turn), Term("a", now)));
  };
  EXPECT_EQ(enter(ann_, "1", kNow).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(Now(store_->responses().CreateConversation(ann_, {.id = id, .created_at = kNow})));
  ASSERT_TRUE(enter(ann_, "1", kNow));
  ASSERT_TRUE(enter(ann_, "1", kNow));  // The same turn on another replica.
  EXPECT_EQ(enter(ann_, "2", kNow).error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(enter(bob_, "2", kNow).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(enter(ann_, "2", After(std::chrono::seconds(31))));
  ASSERT_TRUE(Now(turns().LeaveConversation(ann_, id, ResponseId("1"))));  // Not its own any more.
  EXPECT_FALSE(enter(ann_, "3", After(std::chrono::seconds(31))));
  ASSERT_TRUE(Now(turns().LeaveConversation(ann_, id, ResponseId("2"))));
  EXPECT_TRUE(enter(ann_, "3", After(std::chrono::seconds(31))));
}

TEST_P(TurnStoreTest, OldTurnsAreSweptUnlessTheyAreUnderWay) {
  const auto lease = Begin("old");
  ASSERT_TRUE(Now(turns().End(ann_, ResponseId("old"), *lease, "end", {.bodies = {"e"}}, kNow)));
  ASSERT_TRUE(Begin("busy"));
  ASSERT_TRUE(Now(store_->maintenance().Sweep({}, After(std::chrono::hours(24 * 31)))));
  EXPECT_FALSE(Now(store_->responses().Find(ann_, ResponseId("old"))));
  EXPECT_THAT(*Now(turns().Events(ann_, ResponseId("old"), 0, 10)), IsEmpty());
  EXPECT_TRUE(Now(store_->responses().Find(ann_, ResponseId("busy"))));
}

INSTANTIATE_OVER_BACKENDS(TurnStoreTest);

}  // namespace
}  // namespace caisson
