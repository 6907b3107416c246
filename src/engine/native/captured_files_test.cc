#include "engine/native/captured_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace caisson {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class CapturedFilesTest : public ::testing::Test {
 protected:
  CapturedFilesTest() {
    std::string pattern = ::testing::TempDir() + "capture-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(root_ / "output");
    limits_.files = 10;
    limits_.file_bytes = 100;
    limits_.total_file_bytes = 250;
  }
  ~CapturedFilesTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& contents) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << contents;
  }
  // Returns the limit that a text names at its end.
  static std::string Limit(const std::string& omitted) {
    return omitted.substr(std::min(omitted.find('('), omitted.size()));
  }
  std::vector<std::string> Capture() {
    const UniqueFd root(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::vector<std::string> seen;
    FileCapture capture(limits_);
    capture.ListOutput(root);
    while (!capture.done()) {
      const auto file = capture.ReadOutput(root);
      if (!file) continue;
      EXPECT_EQ(file->change, "created");
      seen.push_back(file->path + "=" +
                     (file->omitted.empty() ? file->contents : Limit(file->omitted)));
    }
    return seen;
  }

  fs::path root_;
  wire::StartHeader limits_{};
};

TEST_F(CapturedFilesTest, LargeFilesAreReadInSteps) {
  limits_.file_bytes = limits_.total_file_bytes = 10u << 20;
  const std::string large(3'500'000, 'x');
  Write("output/large", large);
  Write("output/small", "s");
  const UniqueFd root(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  FileCapture capture(limits_);
  capture.ListOutput(root);
  int steps = 0;
  std::vector<OutcomeFile> files;
  for (; !capture.done(); ++steps) {
    if (auto file = capture.ReadOutput(root)) files.push_back(*std::move(file));
  }
  EXPECT_EQ(steps, 5);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files[0].contents == large);
  EXPECT_EQ(files[1].contents, "s");
}

TEST_F(CapturedFilesTest, FilesBelowOutputAreCapturedInPathOrder) {
  Write("output/b.txt", "b");
  Write("output/a/deep/c.txt", "c");
  Write("tmp/scratch", "no");
  EXPECT_THAT(Capture(), ElementsAre("/output/a/deep/c.txt=c", "/output/b.txt=b"));
}

TEST_F(CapturedFilesTest, LinksAreNeitherFollowedNorReported) {
  Write("secret", "s3cret");
  Write("elsewhere/x", "s3cret");
  Write("output/real", "r");
  fs::create_symlink(root_ / "secret", root_ / "output/link");
  fs::create_symlink("../secret", root_ / "output/relative");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "output/directory");
  fs::create_symlink("/proc/self/root/etc/passwd", root_ / "output/magic");
  EXPECT_THAT(Capture(), ElementsAre("/output/real=r"));
}

TEST_F(CapturedFilesTest, AnOutputThatIsALinkIsNotFollowed) {
  Write("elsewhere/x", "s3cret");
  fs::remove(root_ / "output");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "output");
  EXPECT_THAT(Capture(), ElementsAre());
}

TEST_F(CapturedFilesTest, FifosSocketsAndDevicesDoNotHoldItUp) {
  ASSERT_EQ(::mkfifo((root_ / "output/fifo").c_str(), 0666), 0);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (root_ / "output/socket").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  Write("output/real", "r");
  EXPECT_THAT(Capture(), ElementsAre("/output/real=r"));
}

TEST_F(CapturedFilesTest, FilesBeyondTheirCapsAreListedWithoutContents) {
  Write("output/1", std::string(100, 'x'));
  Write("output/2", std::string(101, 'x'));
  Write("output/3", std::string(100, 'y'));
  Write("output/4", std::string(60, 'z'));
  Write("output/5", std::string(50, 'w'));
  EXPECT_THAT(Capture(),
              ElementsAre("/output/1=" + std::string(100, 'x'), "/output/2=(file_bytes)",
                          "/output/3=" + std::string(100, 'y'), "/output/4=(total_file_bytes)",
                          "/output/5=" + std::string(50, 'w')));
}

// Root can read everything; an ordinary user has to change the mode first.
TEST_F(CapturedFilesTest, FilesThatTheirOwnerMayNotReadAreCaptured) {
  Write("output/closed/inside", "i");
  Write("output/secret", "s");
  fs::permissions(root_ / "output/secret", fs::perms::none);
  fs::permissions(root_ / "output/closed/inside", fs::perms::none);
  fs::permissions(root_ / "output/closed", fs::perms::none);
  fs::permissions(root_ / "output", fs::perms::none);
  const uid_t user = ::geteuid();
  if (user == 0) {
    for (const char* path :
         {"", "output", "output/secret", "output/closed", "output/closed/inside"}) {
      ASSERT_EQ(::chown((root_ / path).c_str(), 65534, 65534), 0);
    }
    ASSERT_EQ(::seteuid(65534), 0);
  }
  EXPECT_THAT(Capture(), ElementsAre("/output/closed/inside=i", "/output/secret=s"));
  ASSERT_EQ(::seteuid(user), 0);
}

TEST_F(CapturedFilesTest, ALayerSaysWhatWasWrittenAndWhatIsGone) {
  Write("new/deep", "d");
  Write("plain", "p");
  fs::create_symlink("/etc/passwd", root_ / "link");
  // An ordinary user's layers have these too, but only the kernel can make them for that user.
  const bool devices = ::mknod((root_ / "gone").c_str(), S_IFCHR, 0) == 0;
  fs::remove(root_ / "output");
  const UniqueFd root(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::vector<LayerEntry> entries;
  FileCapture(limits_).AddLayer(root, 3, "/data", entries);
  std::vector<std::string> seen;
  for (const LayerEntry& entry : entries) {
    EXPECT_EQ(entry.mount, 3u);
    static constexpr const char* kKinds[] = {"file", "directory", "removed"};
    seen.push_back(std::string(kKinds[static_cast<int>(entry.kind)]) + " " + entry.path + "=" +
                   entry.file.contents + entry.file.omitted);
  }
  std::vector<std::string> expected{"directory new=", "file new/deep=d", "file plain=p"};
  expected.insert(expected.begin(), "file link=neither a file nor a directory");
  if (devices) expected.insert(expected.begin(), "removed gone=");
  EXPECT_EQ(seen, expected);
}

TEST_F(CapturedFilesTest, OneFileTooManyIsListed) {
  limits_.files = 2;
  for (const char* name : {"a", "b", "c", "d"}) Write("output/" + std::string(name), "x");
  EXPECT_THAT(Capture(), ElementsAre("/output/a=x", "/output/b=x", "/output/c=(files)"));
}

}  // namespace
}  // namespace caisson
