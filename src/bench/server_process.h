// A ServerProcess is a `caisson` server that a benchmark talks to from outside, as its users do:
// over its stdin and stdout, or over HTTP.
//
// Trust     Our own program. The benchmarks check its answers.
// Threads   Blocks. Used by one thread.
// Lifetime  The destructor ends the server.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "jail/program.h"

namespace caisson::bench {

// How a benchmark starts servers.
struct ServerPlan {
  std::string program{};  // The path of caisson.
  std::string tier{};
  std::string installation{};  // Same as for FindInstallation.
};

class ServerProcess {
 public:
  // Starts `caisson COMMAND ...`, which keeps its own files below `home`.
  static Result<ServerProcess> Start(const ServerPlan& plan, std::vector<std::string> command,
                                     const std::string& home);

  // Writes the line with its end.
  Result<void> Write(std::string line);
  // Returns the next line without its end.
  Result<std::string> ReadLine();

 private:
  explicit ServerProcess(jail::Program program) : program_(std::move(program)) {}

  jail::Program program_;
  std::string unread_{};
};

// A directory that is removed with everything in it at the end.
class ScratchDirectory {
 public:
  static Result<ScratchDirectory> Make();
  ScratchDirectory(ScratchDirectory&& other) noexcept
      : path_(std::exchange(other.path_, std::string())) {}
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();

  const std::string& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace caisson::bench
