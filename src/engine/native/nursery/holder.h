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
  Holder();
  void Connect(int socket) { stream_.Connect(socket); }

  enum class Order {
    kRun,
    kSave,
    kRestore,  // All of it is still in the stream: it can be of any length.
  };
  Order AwaitOrder();
  const wire::SaveHeader& save() const { return save_; }
  FrameStream& stream() { return stream_; }
  // Answers kRestore, in a process that goes on where another was.
  void SayRestored();

  // The next run, once it is there. Nothing of it but the header has been looked at.
  wire::StartHeader AwaitStart();
  std::string_view files() const;  // That come with it, encoded. Until Run().
  void Refuse(std::string_view why);

  // Runs it, and sends how it ended. False: there was no report, which is our own bug.
  bool Run();

  // guest/abi.h.
  std::int32_t Wait(std::int32_t seq, std::int64_t timeout_ns);
  void Wake();
  std::int32_t Post(std::string_view message);
  std::uint32_t Take(void* out, std::uint32_t capacity);
  void Report(std::string_view message);

  // There is no memory for what the host sent: the run has used it up, and ends as one that did.
  [[noreturn]] void EndOutOfMemory();
  // Ends the run as out of memory if memory was short. Else returns, except for SIGABRT, of which the first process of
  // a pid namespace cannot die: abort() would go on and make a fault that looks like another.
  void EndFaulted(int signal);

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Deadline = std::optional<std::uint64_t>;  // On the monotonic clock, in nanoseconds.

  struct Message {
    wire::ToWorker kind{};
    std::string payload;
  };

  bool IsForked() const;
  bool Arrived(std::int32_t seq) const;
  void AwaitNews(Lock& lock, Deadline deadline);
  std::optional<Message> Listen(Deadline deadline);
  void Deliver(Message message);
  wire::DoneHeader MakeDone(wire::Ending ending, std::uint32_t flags) const;
  void SendDone(const wire::DoneHeader& done, std::string_view report);
  [[noreturn]] void Stop(wire::Ending ending);

  FrameStream stream_;
  const pid_t owner_;
  const std::string_view out_of_memory_report_;  // Encoded while there is memory.

  wire::StartHeader start_{};
  wire::SaveHeader save_{};
  std::string message_;  // Header, request and files.
  bool reported_ = false;
  std::uint64_t arrived_ns_ = 0;
  std::uint64_t began_ns_ = 0;
  std::uint32_t calls_ = 0;

  std::mutex mutex_;  // For all below.
  std::condition_variable changed_;
  // A thread that an earlier run left behind waits for ever: its call belongs to nobody.
  std::uint64_t run_ = 0;
  std::optional<std::string> next_run_;
  std::optional<Order> next_copy_;         // kSave or kRestore.
  std::deque<std::string> messages_;       // For the guest to take.
  std::vector<std::uint32_t> open_calls_;  // Posted, not answered.
  std::uint64_t wakes_ = 0;
  bool is_read_ = false;  // Some thread reads the socket.
  int wake_fd_ = -1;      // Ends that thread's sleep, if it is one that can be woken.
};

// The one holder of this process, for the functions of guest/abi.h and for operator new.
void SetHolder(Holder& holder);
// As that of the holder, if there is one.
void EndOutOfMemory();
// From now on SIGABRT and the signals of faults are the holder's.
void CatchFaults();

}  // namespace caisson::nursery
