// Staging puts a set of changes into one directory of the host: all of them, or none.
//
// New files are written to a directory of their own beneath the root (kReservedPrefix and a random
// number), together with a manifest of what is to be done. Then each takes its place by one rename that
// cannot overwrite what it does not know: a new name must be free, an old file is exchanged for the new
// one or taken away, and what came out must be what the run had seen. If anything is not as expected,
// everything is put back. As long as the manifest is there, what was done can be undone, after a crash
// too; removing it is the moment from which the changes stand. What cannot be put back, because others
// have taken its place meanwhile, is left where it is for a person to look at.
//
// A file that was there keeps its owner, group and mode. What is new gets owner and group of the directory it is in.
//
// Trust     Paths and contents are a guest's. The tree may be changed by others at any time: that is a
//           conflict, never an overwritten file. Paths are resolved beneath the root only (I11).
// Threads   Any one; it blocks.
// Lifetime  Borrows the root. Until Finish() it undoes, when it goes, what Commit() did.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/frames.h"

namespace caisson::workspace {

// What is to be at a path, and what must be there before.
struct WantedChange {
  enum class Wanted : std::uint8_t { kNothing, kFile, kDirectory };

  std::string path;
  Wanted wanted = Wanted::kNothing;
  std::string_view contents{};   // kFile.
  wire::FileVersion expected{};  // Inode 0: nothing.
};

class Staging {
 public:
  // Writes everything but changes nothing. kFailedPrecondition: something is not as expected.
  static Result<Staging> Prepare(const UniqueFd& root, const std::vector<WantedChange>& changes);

  // Puts all changes in place; what was done before an error is undone when this goes.
  // kFailedPrecondition as above.
  Result<void> Commit();

  // From here on the changes stand.
  void Finish();

  // What is at each path after Commit(), in the order of `changes`.
  const std::vector<wire::FileVersion>& versions() const { return versions_; }

  // Undoes and clears away what processes that are gone have left beneath `root`.
  static void Recover(const UniqueFd& root);

  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

 private:
  enum class Kind : char { kTake = 'T', kInsert = 'I', kExchange = 'X' };
  struct Step {
    Kind kind;
    std::string path;
    std::uint64_t inode = 0;  // kTake: of what is taken; otherwise of what is put there.
    wire::FileVersion expected{};
    std::size_t change = 0;  // Which one it does.
  };

  explicit Staging(const UniqueFd& root) : root_(&root) {}
  Result<void> MakeDirectory();
  Result<void> Stage(const WantedChange& change, std::size_t number);
  Result<void> SettleNew(const UniqueFd& made, std::string path, const struct ::stat& stat) const;
  Result<void> WriteManifest() const;
  Result<void> ReadManifest();
  Result<void> Do(std::size_t number);
  Result<void> CheckTaken(std::size_t number) const;
  // Whether nothing of the host's is left in the directory.
  bool UndoAll();
  bool Undo(std::size_t number) const;
  void Clear();

  const UniqueFd* root_;
  std::string name_;    // Of the directory; empty: there is none any more.
  UniqueFd directory_;  // Locked for as long as somebody works with it.
  std::vector<Step> steps_;
  std::vector<wire::FileVersion> versions_;
};

}  // namespace caisson::workspace
