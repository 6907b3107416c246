// Staging applies a set of changes to one directory of the host: all of them, or none.
//
// New files are written to a separate directory beneath the root (kReservedPrefix and a random
// number), together with a manifest of the steps. Then each file takes its place by one rename that
// cannot overwrite an unknown file: a new name must be free; an old file is exchanged for the new
// one or removed, and it must be the one that the run had seen. If anything is not as expected,
// everything is undone. While the manifest exists, the steps can be undone, even after a crash.
// Removing the manifest makes the changes final. A file that cannot be put back, because another
// one has taken its place, is left in the separate directory for a person to look at.
//
// An existing file keeps its owner, group and mode. A new file gets the owner and group of its
// directory.
//
// Trust     Paths and contents are a guest's. Others may change the tree at any time; that is a
//           conflict and never overwrites a file. Paths are resolved beneath the root only (I11).
// Threads   One thread at a time; it blocks.
// Lifetime  Borrows the root. Unless Finish() was called, the destructor undoes what Commit() did.
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

// The wanted state of a path, and the state that it must have before.
struct WantedChange {
  enum class Wanted : std::uint8_t { kNothing, kFile, kDirectory };

  std::string path;
  Wanted wanted = Wanted::kNothing;
  std::string_view contents{};   // kFile.
  wire::FileVersion expected{};  // Inode 0: no file.
};

class Staging {
 public:
  // Writes the new files but changes nothing else. Fails with kFailedPrecondition if a path is not
  // as expected.
  static Result<Staging> Prepare(const UniqueFd& root, const std::vector<WantedChange>& changes);

  // Applies all changes. After an error, the destructor undoes the steps that were done. Fails with
  // kFailedPrecondition as above.
  Result<void> Commit();

  // Makes the changes final.
  void Finish();

  // Returns the version at each path after Commit(), in the order of `changes`.
  const std::vector<wire::FileVersion>& versions() const { return versions_; }

  // Undoes and removes what dead processes have left beneath `root`.
  static void Recover(const UniqueFd& root);

  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

 private:
  enum class Kind : char { kTake = 'T', kInsert = 'I', kExchange = 'X' };
  struct Step {
    Kind kind;
    std::string path;
    // kTake: the inode that is removed; otherwise the inode that is put there.
    std::uint64_t inode = 0;
    wire::FileVersion expected{};
    std::size_t change = 0;  // The index of the change.
  };

  explicit Staging(const UniqueFd& root) : root_(&root) {}
  Result<void> MakeDirectory();
  Result<void> Stage(const WantedChange& change, std::size_t number);
  Result<void> SettleNew(const UniqueFd& made, std::string path, const struct ::stat& stat) const;
  Result<void> WriteManifest() const;
  Result<void> ReadManifest();
  Result<void> Do(std::size_t number);
  Result<void> CheckTaken(std::size_t number) const;
  // Returns true if none of the host's files are left in the directory.
  bool UndoAll();
  bool Undo(std::size_t number) const;
  void Clear();

  const UniqueFd* root_;
  std::string name_;    // Name of the directory; empty after it was removed.
  UniqueFd directory_;  // Locked while it is in use.
  std::vector<Step> steps_;
  std::vector<wire::FileVersion> versions_;
};

}  // namespace caisson::workspace
