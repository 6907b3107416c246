// Checkpoints, responses and conversations, documents, idempotency.
#include <gmock/gmock.h>

#include "tests/store/backend.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CheckpointStoreTest : public StoreTest {
 protected:
  Result<void> Append(std::optional<const char*> expected, const char* id) {
    return Now(store_->checkpoints().Append(
        ann_, InstanceId("w"), expected ? std::optional(CheckpointId(*expected)) : std::nullopt,
        {CheckpointId(id), std::string("state of ") + id, kNow}));
  }
};

TEST_P(CheckpointStoreTest, TheHeadMovesOnlyFromWhereItWas) {
  EXPECT_EQ(Now(store_->checkpoints().Head(ann_, InstanceId("w"))).error().code(),
            ErrorCode::kNotFound);
  EXPECT_FALSE(Append("a", "b"));
  ASSERT_TRUE(Append({}, "a"));
  EXPECT_FALSE(Append({}, "b"));
  ASSERT_TRUE(Append("a", "b"));
  EXPECT_EQ(Append("a", "c").error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_FALSE(Append("b", "a"));  // An id is used once, and the head stays.
  const auto head = Now(store_->checkpoints().Head(ann_, InstanceId("w")));
  EXPECT_EQ(head->id, CheckpointId("b"));
  EXPECT_EQ(head->bytes, "state of b");
  EXPECT_THAT(*Now(store_->checkpoints().List(ann_, InstanceId("w"))),
              ElementsAre(CheckpointId("a"), CheckpointId("b")));
}

TEST_P(CheckpointStoreTest, PruningKeepsTheNewest) {
  ASSERT_TRUE(Append({}, "a"));
  ASSERT_TRUE(Append("a", "b"));
  ASSERT_TRUE(Append("b", "c"));
  ASSERT_TRUE(Now(store_->checkpoints().Prune(ann_, InstanceId("w"), 2)));
  EXPECT_THAT(*Now(store_->checkpoints().List(ann_, InstanceId("w"))),
              ElementsAre(CheckpointId("b"), CheckpointId("c")));
  ASSERT_TRUE(Now(store_->checkpoints().Prune(bob_, InstanceId("w"), 0)));
  ASSERT_TRUE(Now(store_->checkpoints().Prune(ann_, InstanceId("w"), 0)));
  EXPECT_EQ(Now(store_->checkpoints().Head(ann_, InstanceId("w")))->id, CheckpointId("c"));
}

TEST_P(CheckpointStoreTest, AnothersWorkflowIsLikeNone) {
  ASSERT_TRUE(Append({}, "a"));
  EXPECT_EQ(Why(Now(store_->checkpoints().Find(bob_, InstanceId("w"), CheckpointId("a")))),
            Why(Now(store_->checkpoints().Find(bob_, InstanceId("w"), CheckpointId("z")))));
  EXPECT_FALSE(Now(store_->checkpoints().Head(bob_, InstanceId("w"))));
  EXPECT_THAT(*Now(store_->checkpoints().List(bob_, InstanceId("w"))), IsEmpty());
  EXPECT_TRUE(Now(
      store_->checkpoints().Append(bob_, InstanceId("w"), {}, {CheckpointId("a"), "bob's", kNow})));
  EXPECT_EQ(Now(store_->checkpoints().Head(ann_, InstanceId("w")))->bytes, "state of a");
}

INSTANTIATE_OVER_BACKENDS(CheckpointStoreTest);

class ResponseStoreTest : public StoreTest {
 protected:
  ResponseStore& responses() { return store_->responses(); }
  Result<void> Create(const IsolationKey& owner, const char* id, const char* previous) {
    StoredResponse response{.id = ResponseId(id), .body = id, .created_at = kNow};
    if (previous != nullptr) response.previous = ResponseId(previous);
    return Now(responses().Create(owner, response));
  }
  std::string ChainOf(const char* id, std::uint32_t limit) {
    std::string ids;
    const auto chain = Now(responses().Chain(ann_, ResponseId(id), limit));
    if (!chain) return Why(chain);
    for (const StoredResponse& response : *chain) ids += response.id.str();
    return ids;
  }
};

TEST_P(ResponseStoreTest, AResponseIsReplacedByWhoSawItLast) {
  ASSERT_TRUE(Create(ann_, "a", nullptr));
  EXPECT_FALSE(Create(ann_, "a", nullptr));
  EXPECT_EQ(*Now(responses().Replace(ann_, ResponseId("a"), 1, "new", kNow)), 2);
  EXPECT_EQ(Now(responses().Replace(ann_, ResponseId("a"), 1, "late", kNow)).error().code(),
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Now(responses().Replace(bob_, ResponseId("a"), 2, "bob", kNow)).error().code(),
            ErrorCode::kNotFound);
  EXPECT_EQ(Now(responses().Find(ann_, ResponseId("a")))->body, "new");
}

TEST_P(ResponseStoreTest, ChainsAreFollowedWithinTheirOwner) {
  ASSERT_TRUE(Create(ann_, "a", nullptr));
  ASSERT_TRUE(Create(ann_, "b", "a"));
  ASSERT_TRUE(Create(ann_, "c", "b"));
  ASSERT_TRUE(Create(bob_, "x", nullptr));
  ASSERT_TRUE(Create(ann_, "y", "x"));  // Claims to follow one of Bob's.
  ASSERT_TRUE(Create(ann_, "z", "z"));  // Claims to follow itself.
  EXPECT_EQ(ChainOf("c", 10), "cba");
  EXPECT_EQ(ChainOf("c", 2), "cb");
  EXPECT_EQ(ChainOf("y", 10), "y");
  EXPECT_EQ(ChainOf("z", 3), "zzz");
  EXPECT_EQ(ChainOf("x", 10), ChainOf("never", 10));
}

TEST_P(ResponseStoreTest, AnothersResponseIsLikeNone) {
  ASSERT_TRUE(Create(ann_, "a", nullptr));
  EXPECT_EQ(Why(Now(responses().Find(bob_, ResponseId("a")))),
            Why(Now(responses().Find(bob_, ResponseId("never")))));
  EXPECT_EQ(Why(Now(responses().Remove(bob_, ResponseId("a")))),
            Why(Now(responses().Remove(bob_, ResponseId("never")))));
  EXPECT_TRUE(Now(responses().Remove(ann_, ResponseId("a"))));
  EXPECT_FALSE(Now(responses().Find(ann_, ResponseId("a"))));
}

TEST_P(ResponseStoreTest, ConversationsGrowAtTheEnd) {
  const ConversationId id("c");
  EXPECT_FALSE(Now(responses().AppendItems(ann_, id, 0, {"x"}, kNow)));
  ASSERT_TRUE(
      Now(responses().CreateConversation(ann_, {.id = id, .body = "b", .created_at = kNow})));
  EXPECT_EQ(*Now(responses().AppendItems(ann_, id, 0, {"one", "two"}, kNow)), 2);
  EXPECT_EQ(Now(responses().AppendItems(ann_, id, 0, {"late"}, kNow)).error().code(),
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(*Now(responses().AppendItems(ann_, id, 2, {"three"}, kNow)), 3);
  EXPECT_THAT(*Now(responses().Items(ann_, id, 0, 10)), ElementsAre("one", "two", "three"));
  EXPECT_THAT(*Now(responses().Items(ann_, id, 1, 1)), ElementsAre("two"));
  EXPECT_EQ(Now(responses().FindConversation(ann_, id))->length, 3);

  EXPECT_EQ(Why(Now(responses().Items(bob_, id, 0, 10))),
            Why(Now(responses().Items(bob_, ConversationId("never"), 0, 10))));
  EXPECT_FALSE(Now(responses().FindConversation(bob_, id)));
  EXPECT_FALSE(Now(responses().RemoveConversation(bob_, id)));
  ASSERT_TRUE(Now(responses().RemoveConversation(ann_, id)));
  EXPECT_FALSE(Now(responses().Items(ann_, id, 0, 10)));
  ASSERT_TRUE(
      Now(responses().CreateConversation(ann_, {.id = id, .body = "b", .created_at = kNow})));
  EXPECT_THAT(*Now(responses().Items(ann_, id, 0, 10)), IsEmpty());
}

INSTANTIATE_OVER_BACKENDS(ResponseStoreTest);

class DocumentStoreTest : public StoreTest {};

TEST_P(DocumentStoreTest, OnlyTheHolderOfTheLastVersionSaves) {
  DocumentStore& snapshots = store_->snapshots();
  const DocumentId id("thread");
  EXPECT_EQ(*Now(snapshots.Save(ann_, id, 0, "one", kNow)), 1);
  EXPECT_EQ(Now(snapshots.Save(ann_, id, 0, "two", kNow)).error().code(),
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(*Now(snapshots.Save(ann_, id, 1, "two", kNow)), 2);
  EXPECT_FALSE(Now(snapshots.Save(ann_, id, 1, "late", kNow)));
  EXPECT_EQ(Now(snapshots.Find(ann_, id))->body, "two");
  EXPECT_EQ(Now(snapshots.Find(ann_, id))->version, 2);
}

TEST_P(DocumentStoreTest, OwnersAndCollectionsAreApart) {
  const DocumentId id("thread");
  ASSERT_TRUE(Now(store_->snapshots().Save(ann_, id, 0, "one", kNow)));
  EXPECT_FALSE(Now(store_->sessions().Find(ann_, id)));
  EXPECT_EQ(Why(Now(store_->snapshots().Find(bob_, id))),
            Why(Now(store_->snapshots().Find(bob_, DocumentId("never")))));
  EXPECT_FALSE(Now(store_->snapshots().Remove(bob_, id)));
  EXPECT_FALSE(Now(store_->snapshots().Save(bob_, id, 1, "bob", kNow)));
  ASSERT_TRUE(Now(store_->snapshots().Remove(ann_, id)));
  EXPECT_FALSE(Now(store_->snapshots().Find(ann_, id)));
}

INSTANTIATE_OVER_BACKENDS(DocumentStoreTest);

class RunKeyTest : public StoreTest {
 protected:
  Result<Lease> Create(const IsolationKey& owner, const char* run, const char* fingerprint,
                       SystemTime now = kNow) {
    return Now(store_->runs().Create(owner,
                                     {.id = RunId(run),
                                      .key = RunKey{.id = IdempotencyKey("k"),
                                                    .fingerprint = fingerprint,
                                                    .expires_at = now + std::chrono::hours(1)}},
                                     {.holder = "here", .now = now, .until = now}));
  }
  Result<KeyedRun> Find(const IsolationKey& owner, SystemTime now = kNow) {
    return Now(store_->runs().FindByKey(owner, IdempotencyKey("k"), now));
  }
};

TEST_P(RunKeyTest, AKeyStartsOneRun) {
  EXPECT_EQ(Find(ann_).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(Create(ann_, "one", "f"));
  EXPECT_EQ(Create(ann_, "two", "f").error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_FALSE(Now(store_->runs().Find(ann_, RunId("two"))));
  EXPECT_EQ(Find(ann_)->run, RunId("one"));
  EXPECT_EQ(Find(ann_)->fingerprint, "f");
  EXPECT_FALSE(Find(bob_));
  ASSERT_TRUE(Create(bob_, "two", "g"));
  EXPECT_EQ(Find(bob_)->run, RunId("two"));
}

TEST_P(RunKeyTest, AForgottenOrExpiredKeyIsFree) {
  ASSERT_TRUE(Create(ann_, "one", "f"));
  ASSERT_TRUE(Now(store_->runs().ForgetKey(ann_, IdempotencyKey("k"), RunId("other"))));
  ASSERT_TRUE(Now(store_->runs().ForgetKey(bob_, IdempotencyKey("k"), RunId("one"))));
  EXPECT_TRUE(Find(ann_));
  ASSERT_TRUE(Now(store_->runs().ForgetKey(ann_, IdempotencyKey("k"), RunId("one"))));
  EXPECT_FALSE(Find(ann_));
  ASSERT_TRUE(Create(ann_, "two", "g"));
  EXPECT_FALSE(Find(ann_, After(std::chrono::hours(1))));
  ASSERT_TRUE(Create(ann_, "three", "h", After(std::chrono::hours(1))));
  EXPECT_EQ(Find(ann_, After(std::chrono::hours(1)))->run, RunId("three"));
}

INSTANTIATE_OVER_BACKENDS(RunKeyTest);

}  // namespace
}  // namespace caisson
