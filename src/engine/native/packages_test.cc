#include "engine/native/packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace caisson {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;

TEST(PackagesTest, ModulesOfAVirtualEnvironmentAreFoundByWhatTheyAre) {
  std::string prefix = ::testing::TempDir() + "venv-XXXXXX";
  ASSERT_NE(::mkdtemp(prefix.data()), nullptr);
  const fs::path site = fs::path(prefix) / "lib/python3.11/site-packages";
  fs::create_directories(site / "zz_package");
  fs::create_directories(site / "zz_package-1.0.dist-info");
  fs::create_directories(site / "__pycache__");
  for (const char* file : {"zz_module.py", "zz_native.cpython-311-x86_64-linux-gnu.so", "zz.pth",
                           "zz_stable.abi3.so", "README.txt"}) {
    std::ofstream(site / file) << "x";
  }
  const auto names = InstalledPackages(prefix);
  EXPECT_THAT(names, IsSupersetOf({"zz_module", "zz_native", "zz_package", "zz_stable"}));
  for (const char* none : {"zz", "README", "__pycache__", "zz_package-1"}) {
    EXPECT_THAT(names, Not(Contains(none)));
  }
  fs::remove_all(prefix);
}

TEST(PackagesTest, AnotherPythonHasNothingButItsOwn) {
  std::string prefix = ::testing::TempDir() + "python-XXXXXX";
  ASSERT_NE(::mkdtemp(prefix.data()), nullptr);
  fs::create_directories(fs::path(prefix) / "lib/python3.13/site-packages/zz_package");
  EXPECT_FALSE(IsForEmbedded(prefix));
  EXPECT_THAT(InstalledPackages(prefix), ElementsAre("zz_package"));
  fs::remove_all(prefix);
}

TEST(PackagesTest, OnlyWhatIsAllowedIsOffered) {
  EXPECT_THAT(AllowedPackages({"numpy", "paramiko", "yaml"}, UsualPackages()),
              ElementsAre("numpy", "yaml"));
}

}  // namespace
}  // namespace caisson
