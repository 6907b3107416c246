// A FileCapture reads the files that a run left in its /output and in the layers of its mounts.
//
// Trust     An attacker wrote the trees. It is used when every process that could write to them is
//           dead. It descends from a directory descriptor and never follows a link, a mount or
//           anything that is not a directory or regular file (I11). Files that their owner may not
//           read are made readable: they are ours by now.
// Threads   Any one thread; reads from memory (a tmpfs): about a millisecond for a megabyte.
// Lifetime  One for each run, because its trees share the limits.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "engine/host_files.h"
#include "engine/outcome.h"
#include "wire/frames.h"

namespace caisson {

class FileCapture {
 public:
  // Applies the limits of `start`. A file that is too large, or one beyond the maximum number, is
  // listed without its contents; at most one file is listed beyond that number.
  explicit FileCapture(const wire::StartHeader& start) : start_(start) {}

  // Lists the regular files below "output" in `root`.
  void ListOutput(const UniqueFd& root);
  // Reads at most a megabyte more of the listed files, in path order. Returns a file that is read
  // whole. nullopt: call it again, unless it is done.
  std::optional<OutcomeFile> ReadOutput(const UniqueFd& root);
  bool done() const { return !open_.is_open() && (output_.empty() || full()); }

  // Adds the entries of a layer (jail/attach.h), in path order. An entry that cannot be read is
  // added as an omitted file.
  void AddLayer(const UniqueFd& layer, std::uint32_t mount, const std::string& guest_path,
                std::vector<LayerEntry>& entries);

 private:
  bool full() const { return files_ > start_.files; }
  // Returns kNot if a file of this size fits.
  wire::Omitted Fits(std::uint64_t size) const;
  // Opens the file for ReadMore() if its contents are captured.
  OutcomeFile Open(const UniqueFd& root, const std::string& path, std::string shown_as);
  // Returns true if the file is read whole, or cannot be.
  bool ReadMore(OutcomeFile& file);

  const wire::StartHeader& start_;
  UniqueFd open_;                   // The file that is being read,
  OutcomeFile reading_;             // and what was read of it.
  std::deque<std::string> output_;  // Paths that are not read yet.
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace caisson
