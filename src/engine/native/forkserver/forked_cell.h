// Turns a freshly forked process into a cell, or into the copy of one, and runs it.
//
// Trust     Trusted until the filter is loaded, hostile from the first byte of a run. The order of
//           steps in Cell::Live separates the two.
// Threads   Starts single-threaded; code may start threads.
// Lifetime  Does not return. The process ends with its run, or is killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/native/forkserver/baseline.h"
#include "engine/native/forkserver/control.h"
#include "engine/native/forkserver/foreign_judge.h"
#include "engine/native/forkserver/holder.h"
#include "engine/native/forkserver/runner.h"
#include "jail/enclosure.h"
#include "jail/filter.h"
#include "jail/slot.h"
#include "wire/fork_server_messages.h"
#include "wire/frames.h"

namespace caisson::forkserver {

// Space for scratch files in addition to captured files, as in the wasm engine.
inline constexpr std::uint64_t kScratchTotalBytes = 64 << 20;
inline constexpr std::uint32_t kScratchInodes = 4096;
// One process with as many threads as code can sensibly use.
inline constexpr std::uint64_t kThreads = 16;

jail::PrivateFiles PrivateFilesOfCell();

// Both ends of a cell's socket, until each is in its place.
struct SocketPair {
  UniqueFd host;
  UniqueFd cell;
};

// Everything that a cell takes over from its fork server. Borrowed: the process is a copy.
struct Inheritance {
  const jail::Enclosure& enclosure;
  const jail::Filter& last_filter;
  const std::vector<jail::PathRule>& rules;
  const Control& control;
  const Runner* runner;               // Null: the interpreter is in this process.
  const ForeignJudge* judge;          // Null if there is no runner.
  std::uint64_t address_space_bytes;  // Of an interpreter that has run no code.
  const Baseline* baseline;           // Null: cells cannot be copied.
  const UniqueFd*
      scratch;  // Where it makes its directory. Null: it has a mount namespace, or no files.
  const jail::Filter* questions;  // Loaded with a listener. Null: the cell has no files of its own.
  // The slot in which it was forked. Null: it must make namespaces and files itself.
  const jail::Slot* slot = nullptr;
};

class ForkedCell {
 public:
  ForkedCell(const Inheritance& inheritance, const CellRequest& request, SocketPair socket)
      : fork_server_(inheritance),
        request_(request.head),
        groups_(request.groups),
        mounts_(request.mounts),
        socket_(std::move(socket)) {}

  [[noreturn]] void Live();

 private:
  Result<void> Prepare();
  Result<void> EnterGroups() const;
  Result<void> Settle();
  Result<void> MakeDirectory();
  Result<void> OpenStreams();
  Result<void> ShowMounts();
  Result<void> ShowOwnFiles();
  std::vector<jail::PathRule> Rules() const;
  Result<void> WarmUp();
  Result<void> Confine();
  Result<void> Announce();
  Result<void> CloseAllElse();
  [[noreturn]] void Serve();
  void Run();
  void Save();
  [[noreturn]] void Restore();
  [[noreturn]] void HandOver();
  Result<void> Tighten(const wire::StartHeader& start) const;

  const Inheritance& fork_server_;
  const wire::MakeCell request_;
  const std::vector<UniqueFd>& groups_;
  const std::vector<jail::Attachment>& mounts_;
  SocketPair socket_;
  UniqueFd stdout_;  // The host's ends.
  UniqueFd stderr_;
  UniqueFd files_;
  UniqueFd listener_;  // The host's.
  UniqueFd judge_;
  std::vector<UniqueFd> layers_;
  // The paths that code sees without a mount namespace. Mounts come first because they may lie
  // below the others.
  struct Shown {
    std::string guest;
    UniqueFd directory;
  };
  std::vector<Shown> shown_;
  Holder holder_;
};

}  // namespace caisson::forkserver
