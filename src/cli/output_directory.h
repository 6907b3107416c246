// An OutputDirectory is where captured files are saved: beneath it, and nowhere else.
//
// Trust     Paths and contents come from the guest, and what lies in the directory may be from an
//           earlier guest: links are neither followed nor written through (I11).
// Threads   One thread. Blocks.
// Lifetime  Holds the directory open; renaming it meanwhile does not lead elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::cli {

class OutputDirectory {
 public:
  // Makes the directory, with its parents, if it is not there.
  static Result<OutputDirectory> Open(const std::string& path);

  // Saves `contents` as `path`, the guest's absolute name: "/output/a/b.csv" becomes "a/b.csv" in
  // here. A file is there whole or not at all; one of that name is replaced.
  Result<void> Save(std::string_view path, std::string_view contents) const;

 private:
  explicit OutputDirectory(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace caisson::cli
