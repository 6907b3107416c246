// An OutputDirectory saves captured files beneath one directory, and nowhere else.
//
// Trust     Paths and contents come from the guest. Files in the directory may come from an earlier
//           guest, so links are neither followed nor written through (I11).
// Threads   One thread. Blocks.
// Lifetime  Keeps the directory open. Files go there even if it is renamed.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::cli {

class OutputDirectory {
 public:
  // Creates the directory and its parents if they do not exist.
  static Result<OutputDirectory> Open(const std::string& path);

  // Saves `contents` as `path`, an absolute path of the guest: "/output/a/b.csv" becomes "a/b.csv"
  // in this directory. The file is written whole or not at all, and replaces an older file.
  Result<void> Save(std::string_view path, std::string_view contents) const;

 private:
  explicit OutputDirectory(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace caisson::cli
