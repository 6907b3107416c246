// A directory for one test, gone with it.
//
// Trust     Tests only.
// Threads   One.
// Lifetime  Removes everything when it goes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/unique_fd.h"

namespace caisson::workspace {

class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "workspace_XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    fd_ = UniqueFd(::open(pattern.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  const UniqueFd& fd() const { return fd_; }

  void Put(const std::string& name, std::string_view contents) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << contents;
  }
  std::string Get(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    if (!in) return "<none>";
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Everything below it, directories with a slash at the end, in order.
  std::string Tree() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      names.insert(entry.path().lexically_relative(path_).string() +
                   (entry.is_directory() ? "/" : ""));
    }
    std::string tree;
    for (const std::string& name : names) tree += name + " ";
    return tree;
  }

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

}  // namespace caisson::workspace
