#include "workspace/mount.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "workspace/testing/test_directory.h"

namespace caisson::workspace {
namespace {

using testing::HasSubstr;

TEST(ParseMountTest, TakesHostGuestAndMode) {
  const auto plain = ParseMount("data:/input");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "data");
  EXPECT_EQ(plain->point.guest_path, "/input");
  EXPECT_EQ(plain->point.mode, MountMode::kReadOnly);
  EXPECT_EQ(ParseMount("/a/b:/work:rw")->point.mode, MountMode::kReadWrite);
  EXPECT_EQ(ParseMount(".:/work:overlay")->point.mode, MountMode::kOverlay);
  EXPECT_EQ(ParseMount("a:b:/work:ro")->host, "a:b");
  EXPECT_EQ(ParseMount("data:/input/")->point.guest_path, "/input");
}

TEST(ParseMountTest, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    const auto spec = ParseMount(text);
    return spec ? "" : spec.error().message();
  };
  EXPECT_THAT(message("data"), HasSubstr("no path in the cell"));
  EXPECT_THAT(message("data:/work:rx"), HasSubstr("must be ro, rw or overlay"));
  EXPECT_THAT(message("data:work"), HasSubstr("not absolute"));
  EXPECT_THAT(message("data:"), HasSubstr("not absolute"));
  EXPECT_THAT(message("data:work:ro"), HasSubstr("not absolute"));
  EXPECT_THAT(message(":/work"), HasSubstr("no directory"));
  EXPECT_THAT(message("data:/"), HasSubstr("root of a cell"));
  EXPECT_THAT(message("data:/a/../b"), HasSubstr("not a plain one"));
  EXPECT_THAT(message("data:/a//b"), HasSubstr("not a plain one"));
  EXPECT_THAT(message("data:/a//"), HasSubstr("not a plain one"));
  EXPECT_THAT(message("data:/tmp/x"), HasSubstr("/tmp is used by the cell itself"));
  EXPECT_THAT(message("data:/usr"), HasSubstr("/usr is used by the cell itself"));
  EXPECT_THAT(message("data:/output/x"), HasSubstr("/output"));
  EXPECT_EQ(message("data:/output:rw"), "");
  EXPECT_EQ(message("data:/tmpx"), "");
}

class OpenMountsTest : public testing::Test {
 protected:
  static MountSpec Spec(const std::filesystem::path& host, std::string guest = "/data") {
    return {.host = host.string(), .point = {.guest_path = std::move(guest)}};
  }
  static std::string Refusal(std::vector<MountSpec> specs, std::vector<std::string> hidden = {}) {
    const auto mounts = OpenMounts(std::move(specs), hidden);
    return mounts ? "" : mounts.error().message();
  }

  TestDirectory root_;
};

TEST_F(OpenMountsTest, DirectoriesAroundAHiddenFileAreRefusedAndThoseBesideItAreNot) {
  root_.Put("app/caisson.db", "");
  root_.Put("app/data/x", "");
  const std::vector<std::string> hidden = {(root_.path() / "app/caisson.db").string(),
                                           (root_.path() / "app/none.keys").string()};
  EXPECT_NE(Refusal({Spec(root_.path() / "app")}, hidden), "");
  EXPECT_NE(Refusal({Spec(root_.path())}, hidden), "");
  EXPECT_EQ(Refusal({Spec(root_.path() / "app/data")}, hidden), "");
}

TEST_F(OpenMountsTest, HiddenPathsNeedNotExist) {
  root_.Put("app/data/x", "");
  const std::vector<std::string> hidden = {(root_.path() / "app/later.db").string()};
  EXPECT_THAT(Refusal({Spec(root_.path() / "app")}, hidden),
              HasSubstr("contains or is inside " + hidden[0] + ", which must not be shown"));
  EXPECT_EQ(Refusal({Spec(root_.path() / "app/data")}, hidden), "");
}

TEST_F(OpenMountsTest, CheckingJudgesEachOfThem) {
  root_.Put("a/x", "");
  root_.Put("b/x", "");
  const auto judged =
      CheckMounts({Spec(root_.path() / "none", "/m"), Spec(root_.path() / "a", "/a"),
                   Spec(root_.path() / "b", "/m/n"), Spec(root_.path() / "a", "/b")},
                  {});
  ASSERT_EQ(judged.size(), 4U);
  EXPECT_THAT(judged[0].error().message(), HasSubstr("no such directory"));
  EXPECT_TRUE(judged[1]);
  EXPECT_THAT(judged[2].error().message(), HasSubstr("overlaps the mount at /m"));
  EXPECT_THAT(judged[3].error().message(), HasSubstr("which is mounted too"));
}

TEST_F(OpenMountsTest, OpensPlainDirectories) {
  root_.Put("a/x", "");
  root_.Put("b/x", "");
  auto mounts = OpenMounts(
      {Spec(root_.path() / "a", "/a"), Spec((root_.path() / "b").string() + "/", "/b")}, {});
  ASSERT_TRUE(mounts);
  EXPECT_EQ(mounts->size(), 2U);
  EXPECT_TRUE((*mounts)[1].directory.is_open());
}

TEST_F(OpenMountsTest, RefusesPathsThatAreNotDirectories) {
  root_.Put("file", "");
  std::filesystem::create_directory_symlink(root_.path(), root_.path() / "link");
  EXPECT_THAT(Refusal({Spec(root_.path() / "none")}), HasSubstr("no such directory"));
  EXPECT_THAT(Refusal({Spec(root_.path() / "file")}), HasSubstr("not a directory"));
  EXPECT_THAT(Refusal({Spec(root_.path() / "link")}), HasSubstr("is a link"));
  EXPECT_THAT(Refusal({Spec((root_.path() / "link").string() + "/")}), HasSubstr("is a link"));
  EXPECT_THAT(Refusal({Spec("")}), HasSubstr("no directory is named"));
}

TEST_F(OpenMountsTest, NamesTheMountThatItsUserMayNotEnter) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  root_.Put("private/x", "");
  const auto closed = root_.path() / "private";
  std::filesystem::permissions(root_.path(), std::filesystem::perms::all);
  std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
  ASSERT_EQ(::seteuid(65534), 0);
  const std::string refusal = Refusal({Spec(closed, "/input")});
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_THAT(refusal, HasSubstr("cannot mount " + closed.string() + " at /input: "));
  EXPECT_THAT(refusal, HasSubstr("Permission denied"));
}

TEST_F(OpenMountsTest, RefusesPlacesThatMustNotBeShown) {
  EXPECT_THAT(Refusal({Spec("/")}), HasSubstr("root of the file system"));
  EXPECT_THAT(Refusal({Spec("/../")}), HasSubstr("root of the file system"));
  for (const char* path : {"/proc", "/proc/1", "/sys", "/sys/kernel", "/dev"}) {
    EXPECT_THAT(Refusal({Spec(path)}), HasSubstr("must not be shown")) << path;
  }
  root_.Put("store/db/x", "");
  root_.Put("other/x", "");
  const std::string store = (root_.path() / "store").string();
  EXPECT_THAT(Refusal({Spec(root_.path())}, {store}), HasSubstr("must not be shown"));
  EXPECT_THAT(Refusal({Spec(store)}, {store}), HasSubstr("must not be shown"));
  EXPECT_THAT(Refusal({Spec(store + "/db")}, {store}), HasSubstr("must not be shown"));
  EXPECT_EQ(Refusal({Spec(root_.path() / "other")}, {store}), "");
  EXPECT_EQ(Refusal({Spec(root_.path() / "other")}, {store + "/none"}), "");
}

TEST_F(OpenMountsTest, RefusesMountsThatOverlap) {
  root_.Put("a/b/x", "");
  root_.Put("c/x", "");
  const auto a = root_.path() / "a";
  EXPECT_THAT(Refusal({Spec(a, "/m"), Spec(root_.path() / "c", "/m")}), HasSubstr("overlaps"));
  EXPECT_THAT(Refusal({Spec(a, "/m"), Spec(root_.path() / "c", "/m/n")}), HasSubstr("overlaps"));
  EXPECT_THAT(Refusal({Spec(a, "/m"), Spec(a / "b", "/n")}), HasSubstr("overlaps"));
  EXPECT_THAT(Refusal({Spec(a, "/m"), Spec(a, "/n")}), HasSubstr("overlaps"));
  EXPECT_EQ(Refusal({Spec(a, "/m"), Spec(root_.path() / "c", "/mn")}), "");
}

}  // namespace
}  // namespace caisson::workspace
