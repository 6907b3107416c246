#include <gmock/gmock.h>

#include <boost/asio/thread_pool.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/sealed_checkpoints.h"
#include "store/sqlite/sqlite_store.h"
#include "tests/store/backend.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr SystemTime kNow{std::chrono::seconds(1'700'000'000)};

class CheckpointsTest : public testing::Test {
 protected:
  CheckpointsTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "caisson-checkpoints-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~CheckpointsTest() override {
    pool_.join();
    std::filesystem::remove_all(root_);
  }

  std::unique_ptr<CheckpointStore> MakeDirectory() {
    const auto refused = [this](CheckpointDirectory::Refusal refusal, const IsolationKey&,
                                const InstanceId&) { refusals_.emplace_back(ToString(refusal)); };
    return *CheckpointDirectory::Open(
        {.root = root_ / "checkpoints", .pool = pool_.get_executor(), .on_refusal = refused},
        keys_);
  }
  Result<void> Append(CheckpointStore& store, std::optional<const char*> expected, const char* id,
                      const char* instance = "w") {
    const auto head = expected ? std::optional(CheckpointId(*expected)) : std::nullopt;
    return Now(store.Append(ann_, InstanceId(instance), head,
                            {CheckpointId(id), std::string("state of ") + id, kNow}));
  }

  std::filesystem::path root_;
  asio::thread_pool pool_{2};
  const KeyRing keys_ = KeyRing::Generate();
  const std::unique_ptr<Store> memory_ = *OpenMemoryStore();
  std::vector<std::string> refusals_;
  const IsolationKey ann_ = OwnerNamed("ann");
  const IsolationKey bob_ = OwnerNamed("bob");
};

enum class Kind { kStore, kDirectory };

class EveryCheckpointsTest : public CheckpointsTest, public testing::WithParamInterface<Kind> {
 protected:
  EveryCheckpointsTest() {
    if (GetParam() == Kind::kStore) {
      store_ = std::make_unique<SealedCheckpoints>(memory_->checkpoints(), keys_);
    } else {
      store_ = MakeDirectory();
    }
  }
  std::unique_ptr<CheckpointStore> store_;
};

TEST_P(EveryCheckpointsTest, TheNewestIsTheHeadAndAllComeBack) {
  EXPECT_EQ(Now(store_->Head(ann_, InstanceId("w"))).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(Append(*store_, {}, "a"));
  ASSERT_TRUE(Append(*store_, "a", "b"));
  const auto head = Now(store_->Head(ann_, InstanceId("w")));
  ASSERT_TRUE(head) << Why(head);
  EXPECT_EQ(head->id, CheckpointId("b"));
  EXPECT_EQ(head->bytes, "state of b");
  EXPECT_EQ(head->created_at, kNow);
  EXPECT_EQ(Now(store_->Find(ann_, InstanceId("w"), CheckpointId("a")))->bytes, "state of a");
  EXPECT_THAT(*Now(store_->List(ann_, InstanceId("w"))),
              ElementsAre(CheckpointId("a"), CheckpointId("b")));
}

TEST_P(EveryCheckpointsTest, ALateWriterIsTold) {
  ASSERT_TRUE(Append(*store_, {}, "a"));
  EXPECT_EQ(Append(*store_, {}, "b").error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Append(*store_, "z", "b").error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Append(*store_, "a", "b", "other").error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Now(store_->Head(ann_, InstanceId("w")))->id, CheckpointId("a"));
}

TEST_P(EveryCheckpointsTest, OneOfManyConcurrentWritersIsFirst) {
  std::atomic<int> first = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      if (Append(*store_, {}, ("c" + std::to_string(i)).c_str())) ++first;
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(Now(store_->List(ann_, InstanceId("w")))->size(), 1u);
}

TEST_P(EveryCheckpointsTest, PruningKeepsTheNewest) {
  ASSERT_TRUE(Append(*store_, {}, "a"));
  ASSERT_TRUE(Append(*store_, "a", "b"));
  ASSERT_TRUE(Append(*store_, "b", "c"));
  ASSERT_TRUE(Now(store_->Prune(ann_, InstanceId("w"), 2)));
  EXPECT_THAT(*Now(store_->List(ann_, InstanceId("w"))),
              ElementsAre(CheckpointId("b"), CheckpointId("c")));
  ASSERT_TRUE(Now(store_->Prune(bob_, InstanceId("w"), 0)));
  ASSERT_TRUE(Now(store_->Prune(ann_, InstanceId("w"), 0)));
  EXPECT_EQ(Now(store_->Head(ann_, InstanceId("w")))->id, CheckpointId("c"));
  EXPECT_TRUE(Append(*store_, "c", "d"));
}

TEST_P(EveryCheckpointsTest, ObjectsOfAnotherOwnerLookMissing) {
  ASSERT_TRUE(Append(*store_, {}, "a"));
  EXPECT_EQ(Why(Now(store_->Find(bob_, InstanceId("w"), CheckpointId("a")))),
            Why(Now(store_->Find(bob_, InstanceId("x"), CheckpointId("z")))));
  EXPECT_EQ(Why(Now(store_->Head(bob_, InstanceId("w")))),
            Why(Now(store_->Head(bob_, InstanceId("x")))));
  EXPECT_THAT(*Now(store_->List(bob_, InstanceId("w"))), IsEmpty());
  EXPECT_TRUE(Now(store_->Append(bob_, InstanceId("w"), {}, {CheckpointId("a"), "bob's", kNow})));
  EXPECT_EQ(Now(store_->Head(ann_, InstanceId("w")))->bytes, "state of a");
  EXPECT_THAT(refusals_, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Over, EveryCheckpointsTest,
                         testing::Values(Kind::kStore, Kind::kDirectory), [](const auto& info) {
                           return info.param == Kind::kStore ? "Store" : "Directory";
                         });

// Attacks by somebody who can write to the store.
class SealedCheckpointsTest : public CheckpointsTest {
 protected:
  SealedCheckpoints sealed_{memory_->checkpoints(), keys_};

  std::string Stored(const char* instance, const char* id) {
    return Now(memory_->checkpoints().Find(ann_, InstanceId(instance), CheckpointId(id)))->bytes;
  }
  // Writes bytes to a wrong place.
  ErrorCode Planted(const IsolationKey& owner, const char* instance, const char* id,
                    const std::string& bytes) {
    auto& below = memory_->checkpoints();
    const auto planted =
        Now(below.Append(owner, InstanceId(instance), {}, {CheckpointId(id), bytes, kNow}));
    EXPECT_TRUE(planted) << Why(planted);
    const auto found = Now(sealed_.Find(owner, InstanceId(instance), CheckpointId(id)));
    EXPECT_FALSE(found);
    return found ? ErrorCode::kInternal : found.error().code();
  }
};

TEST_F(SealedCheckpointsTest, AChangedOrMovedCheckpointIsRefused) {
  ASSERT_TRUE(Append(sealed_, {}, "a"));
  const std::string sealed = Stored("w", "a");
  EXPECT_EQ(sealed.find("state"), sealed.npos);
  EXPECT_EQ(Planted(bob_, "w", "a", sealed), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Planted(ann_, "v", "a", sealed), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Planted(ann_, "u", "b", sealed), ErrorCode::kFailedPrecondition);
  std::string changed = sealed;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_EQ(Planted(ann_, "t", "a", changed), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Planted(ann_, "s", "a", sealed.substr(0, sealed.size() - 1)),
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Planted(ann_, "r", "a", ""), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Planted(ann_, "q", "a", "state of a"), ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(Now(sealed_.Find(ann_, InstanceId("w"), CheckpointId("a"))));
}

class CheckpointDirectoryTest : public CheckpointsTest {
 protected:
  std::filesystem::path InstanceOf(const IsolationKey& owner, const char* instance = "w") const {
    return root_ / "checkpoints" / owner.str() / instance;
  }
  ErrorCode HeadCode(const IsolationKey& owner, const char* instance = "w") {
    const auto head = Now(store_->Head(owner, InstanceId(instance)));
    return head ? ErrorCode::kInternal : head.error().code();
  }
  static void Change(const std::filesystem::path& file) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(-1, std::ios::end);
    const char last = static_cast<char>(stream.get() ^ 1);
    stream.seekp(-1, std::ios::end);
    stream.put(last);
  }

  const std::unique_ptr<CheckpointStore> store_ = MakeDirectory();
};

TEST_F(CheckpointDirectoryTest, ADirectoryOfAnotherOwnerIsNeitherReadNorWritten) {
  ASSERT_TRUE(Append(*store_, {}, "a"));
  std::filesystem::create_directories(InstanceOf(bob_).parent_path());
  std::filesystem::copy(InstanceOf(ann_), InstanceOf(bob_));
  EXPECT_EQ(HeadCode(bob_), ErrorCode::kNotFound);
  EXPECT_EQ(
      Now(store_->Append(bob_, InstanceId("w"), CheckpointId("a"), {CheckpointId("b"), "", kNow}))
          .error()
          .code(),
      ErrorCode::kFailedPrecondition);
  EXPECT_EQ(
      Now(store_->Append(bob_, InstanceId("w"), {}, {CheckpointId("b"), "", kNow})).error().code(),
      ErrorCode::kNotFound);
  EXPECT_THAT(*Now(store_->List(bob_, InstanceId("w"))), IsEmpty());
  EXPECT_THAT(refusals_, testing::AllOf(testing::SizeIs(4), testing::Each("identity_mismatch")));
}

TEST_F(CheckpointDirectoryTest, WithoutAStampThereIsNothing) {
  ASSERT_TRUE(Append(*store_, {}, "a"));
  std::filesystem::rename(InstanceOf(ann_) / "owner", root_ / "stamp");
  EXPECT_EQ(HeadCode(ann_), ErrorCode::kNotFound);
  EXPECT_FALSE(Append(*store_, {}, "b"));
  EXPECT_THAT(refusals_, ElementsAre("identity_missing", "identity_missing"));
  EXPECT_FALSE(std::filesystem::exists(InstanceOf(ann_) / "owner"));
  // A truncated or forged one counts as missing.
  std::filesystem::rename(root_ / "stamp", InstanceOf(ann_) / "owner");
  EXPECT_TRUE(Now(store_->Head(ann_, InstanceId("w"))));
  Change(InstanceOf(ann_) / "owner");
  EXPECT_EQ(HeadCode(ann_), ErrorCode::kNotFound);
  std::filesystem::resize_file(InstanceOf(ann_) / "owner", 0);
  EXPECT_EQ(HeadCode(ann_), ErrorCode::kNotFound);
}

TEST_F(CheckpointDirectoryTest, AWriterThatDiedLeavesNothingInTheWay) {
  std::filesystem::create_directories(InstanceOf(ann_));
  std::ofstream(InstanceOf(ann_) / ".new-owner") << "half";
  EXPECT_EQ(HeadCode(ann_), ErrorCode::kNotFound);
  ASSERT_TRUE(Append(*store_, {}, "a"));
  std::ofstream(InstanceOf(ann_) / ".new-0000000002-b") << "half";
  EXPECT_EQ(Now(store_->Head(ann_, InstanceId("w")))->id, CheckpointId("a"));
  ASSERT_TRUE(Append(*store_, "a", "b"));
  EXPECT_EQ(Now(store_->Head(ann_, InstanceId("w")))->bytes, "state of b");
}

TEST_F(CheckpointDirectoryTest, AChangedOrMovedCheckpointIsRefused) {
  ASSERT_TRUE(Append(*store_, {}, "a"));
  ASSERT_TRUE(Append(*store_, "a", "b"));
  // Presents an old state as the newest.
  std::filesystem::copy_file(InstanceOf(ann_) / "0000000001-a", InstanceOf(ann_) / "0000000003-a");
  EXPECT_EQ(HeadCode(ann_), ErrorCode::kFailedPrecondition);
  std::filesystem::remove(InstanceOf(ann_) / "0000000003-a");
  Change(InstanceOf(ann_) / "0000000002-b");
  EXPECT_EQ(HeadCode(ann_), ErrorCode::kFailedPrecondition);
  std::filesystem::resize_file(InstanceOf(ann_) / "0000000002-b", 5);
  EXPECT_EQ(HeadCode(ann_), ErrorCode::kFailedPrecondition);
  std::filesystem::remove(InstanceOf(ann_) / "0000000002-b");
  std::filesystem::create_symlink(InstanceOf(ann_) / "0000000001-a",
                                  InstanceOf(ann_) / "0000000002-b");
  EXPECT_FALSE(Now(store_->Head(ann_, InstanceId("w"))));
}

TEST_F(CheckpointDirectoryTest, IdsAreSingleSafeSegments) {
  const std::vector<std::string> unsafe = {"",
                                           ".",
                                           "..",
                                           "a/b",
                                           "/a",
                                           "..\\a",
                                           ".hidden",
                                           "a b",
                                           "C:a",
                                           "a%2fb",
                                           "ä",
                                           {"a\0b", 3},
                                           std::string(129, 'a')};
  for (const std::string& id : unsafe) {
    EXPECT_FALSE(Now(store_->Append(ann_, InstanceId(id), {}, {CheckpointId("ok"), "", kNow})));
    EXPECT_FALSE(Now(store_->Append(ann_, InstanceId("w"), {}, {CheckpointId(id), "", kNow})));
    EXPECT_EQ(Now(store_->Head(ann_, InstanceId(id))).error().code(), ErrorCode::kNotFound);
    EXPECT_EQ(Now(store_->Find(ann_, InstanceId("w"), CheckpointId(id))).error().code(),
              ErrorCode::kNotFound);
  }
  EXPECT_TRUE(std::filesystem::is_empty(root_ / "checkpoints"));
  EXPECT_TRUE(Append(*store_, {}, "wf-1.step_2"));
}

TEST_F(CheckpointDirectoryTest, FilesAreForTheirOwnerAlone) {
  ASSERT_TRUE(Append(*store_, {}, "a"));
  using std::filesystem::perms;
  constexpr perms kOthers = perms::group_all | perms::others_all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
    EXPECT_EQ(entry.status().permissions() & kOthers, perms::none) << entry.path();
  }
}

}  // namespace
}  // namespace caisson
