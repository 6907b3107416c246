// A FileCapture reads what a run left: in its /output, and in the layers of its mounts.
//
// Trust     The trees were written by an attacker. It is used when every process that could write to them
//           is dead, and goes down from a directory descriptor, never through a link, a mount or
//           anything that is no directory or regular file (I11). Files whose owner may not read them are
//           made readable: they are ours by now.
// Threads   Any one; reads from memory (a tmpfs), so it does not block for long.
// Lifetime  One for each run, because its trees share the limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "engine/host_files.h"
#include "engine/outcome.h"
#include "wire/frames.h"

namespace caisson {

class FileCapture {
 public:
  // Within the limits of `start`: a file that is too big, or one too many, is there without its contents;
  // there is one of the latter at most.
  explicit FileCapture(const wire::StartHeader& start) : start_(start) {}

  // The regular files below "output" in `root`, in path order.
  std::vector<OutcomeFile> Output(const UniqueFd& root);

  // What a layer (jail/attach.h) holds, in path order. What cannot be told is there as a file that is left out.
  void AddLayer(const UniqueFd& layer, std::uint32_t mount, const std::string& guest_path,
                std::vector<LayerEntry>& entries);

 private:
  bool full() const { return files_ > start_.files; }
  // kNot: it does.
  wire::Omitted Fits(std::uint64_t size) const;
  OutcomeFile Capture(const UniqueFd& root, const std::string& path, std::string shown_as);

  const wire::StartHeader& start_;
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace caisson
