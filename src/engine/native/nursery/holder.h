// The Holder is what guest/abi.h calls the holder of a cell: between the guest logic in this process
// and the host at the other end of the socket.
//
// Trust     Shares its memory with hostile code, so nothing here is a boundary: what it counts and
//           refuses is for the sake of clear errors, and the host checks again (I9).
// Threads   Wait() on any number of threads at once, of which one reads the socket for all; the others
//           with the interpreter's lock held.
// Lifetime  One per cell, for all its runs. A process that code forked from the cell is not part of the
//           conversation: its calls are refused, and it ends where its run would report.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/native/nursery/frame_stream.h"
#include "wire/frames.h"

namespace caisson::nursery {

class Holder {
 public:
  explicit Holder(int socket);

  // The next run: its header, as soon as that is there; TakeRest() then reads what follows it.
  wire::StartHeader AwaitStart();
  // What follows the request in the message: the encoded files.
  std::string_view TakeRest();
  void Refuse(std::string_view why);

  // Runs what was taken, and sends how it ended. False: there was no report, which is our own bug.
  bool Run();

  // guest/abi.h.
  std::int32_t Wait(std::int32_t seq, std::int64_t timeout_ns);
  void Wake();
  std::int32_t Post(std::string_view message);
  std::uint32_t Take(void* out, std::uint32_t capacity);
  void Report(std::string_view message);

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool IsForked() const;
  bool Arrived(std::int32_t seq) const;
  void ReadFor(Lock& lock, std::optional<std::uint64_t> deadline_ns);
  void Deliver(wire::ToWorker kind, std::string message);
  void SendDone(wire::Ending ending, std::string_view report);
  [[noreturn]] void Stop(wire::Ending ending);

  FrameStream stream_;
  const pid_t owner_;

  wire::StartHeader start_{};
  std::string message_;  // The request and the files.
  bool more_ = false;
  bool reported_ = false;
  std::uint64_t arrived_ns_ = 0;
  std::uint64_t began_ns_ = 0;
  std::uint64_t cpu_before_ns_ = 0;
  std::uint32_t calls_ = 0;

  std::mutex mutex_;  // For all below.
  std::condition_variable changed_;
  std::deque<std::string> messages_;       // For the guest to take.
  std::vector<std::uint32_t> open_calls_;  // Posted, not answered.
  std::uint64_t wakes_ = 0;
  bool is_read_ = false;  // Some thread reads the socket.
  int wake_fd_ = -1;      // Ends that thread's sleep.
};

// The one holder of this process, for the functions of guest/abi.h.
void SetHolder(Holder& holder);

}  // namespace caisson::nursery
