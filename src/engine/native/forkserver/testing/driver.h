// Drives a real caisson-forkserver as the host does, one step at a time, for tests.
//
// Trust     -
// Threads   One. Every wait has a deadline.
// Lifetime  The destructor kills the fork server and every cell.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/listener.h"
#include "jail/spawn_process.h"
#include "wire/fork_server_messages.h"
#include "wire/frames.h"
#include "wire/value.h"

namespace caisson::forkserver {

// A message received over a cell's socket.
struct Message {
  wire::ToHost kind{};
  std::string payload;
};

// The end of a run as the cell reports it.
struct RunEnd {
  wire::DoneHeader done{};
  Dict report{};
  std::string refused{};  // The reason of a kRefused.
  bool lost = false;      // The socket ended first.

  // A field of the report; "-" if there is none.
  std::string Text(std::string_view field) const;
  std::string ErrorText(std::string_view field) const;  // A field of its error.
  std::string Result() const;                           // As JSON.
};

struct RunOptions {
  std::vector<std::string> tools{};
  std::vector<std::pair<std::string, std::string>> files{};
  std::uint64_t memory_bytes = 256 << 20;
  std::uint32_t tool_calls = 1000;
  std::uint32_t open_files = 64;
  std::uint32_t flags = 0;
  bool again = false;
};

// Answers one call: (name, positional) to an outcome of guest/abi.h and its value.
using Answerer =
    std::function<Value(const std::string& name, const std::vector<Value>& positional)>;

class DrivenCell {
 public:
  std::uint64_t id = 0;
  UniqueFd pidfd;
  UniqueFd socket;
  UniqueFd out;
  UniqueFd error_out;
  UniqueFd files;                                  // Not open if there are none.
  std::optional<jail::SyscallListener> questions;  // The system calls that it must ask for.
  std::string failed;
  bool prepared = false;
  std::optional<wire::CellGone> gone;

  void Kill() const;
  pid_t HostPid() const;

  void SendStart(const std::string& code, const RunOptions& options = {}) const;
  void SendAnswer(std::uint32_t seq, const Value& value) const;
  std::optional<Message> Receive() const;
  // Starts a run, answers calls with `answer`, waits for the end.
  RunEnd Run(const std::string& code, const RunOptions& options = {}, const Answerer& answer = {});

  // Returns the current contents of the pipes.
  std::string Output() const;
  std::string ErrorOutput() const;
};

class Driver {
 public:
  static Result<Driver> Start(jail::Tier tier, const std::vector<std::string>& arguments = {});

  // Requests a cell and waits until it is prepared, has failed or is gone.
  DrivenCell Make(std::uint32_t processes = 1);
  // The same without waiting.
  std::uint64_t Ask(std::uint32_t processes = 1);
  void AwaitPrepared(DrivenCell& cell);
  // Releases the cell and waits for its end.
  void AwaitGone(DrivenCell& cell);

  const std::string& missing() const { return missing_; }
  std::string Log();
  jail::Child& child() { return child_; }
  void CloseControl() { control_ = UniqueFd(); }
  const UniqueFd& control() const { return control_; }

 private:
  struct Known {
    UniqueFd pidfd;
    std::vector<UniqueFd> descriptors;
    bool born = false;
    bool prepared = false;
    std::string failed;
    std::optional<wire::CellGone> gone;
  };

  Driver(jail::Child child, UniqueFd control, UniqueFd log)
      : child_(std::move(child)), control_(std::move(control)), log_(std::move(log)) {}
  // Receives one packet. Returns false if the fork server is gone or the deadline has passed.
  bool Take();

  jail::Child child_;
  UniqueFd control_;
  UniqueFd log_;
  std::string missing_;
  bool ready_ = false;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Known> known_;
};

}  // namespace caisson::forkserver
