// The Holder is the holder of a cell that guest/abi.h describes: it connects the guest logic in
// this process to the host at the other end of the socket.
//
// Trust     Shares its memory with hostile code, so it is not a boundary. Its counts and checks
//           only give clear errors; the host checks again (I9).
// Threads   Wait() on any number of threads at once, one of which reads the socket for all. The
//           other functions need the interpreter lock.
// Lifetime  One per cell, for all its runs. A process that code forked from the cell is not part of
//           the conversation: its calls are refused, and it ends where its run would report.
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

#include "engine/native/forkserver/frame_stream.h"
#include "wire/frames.h"

namespace caisson::forkserver {

class Holder {
 public:
  Holder();
  void Connect(int socket) { stream_.Connect(socket); }

  enum class Order {
    kRun,
    kSave,
    kRestore,  // The complete message is still in the stream: it can have any length.
  };
  Order AwaitOrder();
  const wire::SaveHeader& save() const { return save_; }
  FrameStream& stream() { return stream_; }
  // Answers kRestore, in a process that continues as a copy of another.
  void SayRestored();

  // Returns the header of the next run once it arrives. No other part of it has been examined.
  wire::StartHeader AwaitStart();
  std::string_view files() const;  // The encoded files that come with it. Valid until Run().
  void Refuse(std::string_view why);

  // Runs it and sends how it ended. Returns false if there was no report, which is a bug of ours.
  bool Run();

  // The functions of guest/abi.h.
  std::int32_t Wait(std::int32_t seq, std::int64_t timeout_ns);
  void Wake();
  std::int32_t Post(std::string_view message);
  std::uint32_t Take(void* out, std::uint32_t capacity);
  void Report(std::string_view message);

  // There is no memory for the host's message. The run has used up its memory and ends with that
  // limit.
  [[noreturn]] void EndOutOfMemory();
  // Handles SIGABRT and the signals of faults. Ends the run with the limit "memory" if an
  // allocation was refused. Otherwise returns, except for SIGABRT, which cannot kill the first
  // process of a pid namespace: abort() would continue and cause a fault that looks like another
  // error.
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

  std::mutex mutex_;  // Protects everything below.
  std::condition_variable changed_;
  // A thread that an earlier run left behind waits for ever, because its call belongs to no run.
  std::uint64_t run_ = 0;
  std::optional<std::string> next_run_;
  std::optional<Order> next_copy_;         // kSave or kRestore.
  std::deque<std::string> messages_;       // Messages that the guest has not taken yet.
  std::vector<std::uint32_t> open_calls_;  // Posted and not answered.
  std::uint64_t wakes_ = 0;
  bool is_read_ = false;  // Some thread reads the socket.
  int wake_fd_ = -1;      // Wakes that thread, if it can be woken.
};

// Sets the one holder of this process, for the functions of guest/abi.h and for operator new.
void SetHolder(Holder& holder);
// Calls the holder's function, if there is a holder.
void EndOutOfMemory();
// Lets the holder handle SIGABRT and the signals of faults from now on.
void CatchFaults();

}  // namespace caisson::forkserver
