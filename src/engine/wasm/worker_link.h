// A WorkerLink speaks wire/frames.h with one worker: it joins frames to messages, passes each to
// its cell, and queues messages that do not fit into the ring.
//
// Trust     Everything read is hostile. An error of Pump means that the worker broke the protocol
//           and must be killed (I9).
// Threads   The worker's lane.
// Lifetime  Borrows the channel. Attached protocols know the link; LoseAll notifies them before it
//           is destroyed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/host/cell_protocol.h"
#include "engine/outcome.h"
#include "engine/wasm/channel.h"
#include "wire/frames.h"

namespace caisson {

// The build of a worker; the same for all workers of an engine.
using WorkerBuild = CellBuild;

struct WorkerReady {
  WorkerBuild build;
  std::uint32_t base_bytes = 0;
  std::vector<std::string> missing;  // Walls that are not up.
};

class WorkerLink final : public CellLink {
 public:
  // `tier` is the tier that outcomes report.
  WorkerLink(Channel& channel, std::string tier);
  ~WorkerLink() override;

  // Reads the frames of one turn at most, then runs the completions that waited for them. Returns
  // true if there is more to read; call it again after others had their turn.
  Result<bool> Pump();

  // Set when the worker has reported that it is ready.
  const std::optional<WorkerReady>& ready() const { return ready_; }
  const Boundary& boundary() const override { return boundary_; }

  // Sends one message, `head` then `body`; queues what the ring cannot take. Sends at once, or at
  // the end of the current turn. Fails with kResourceExhausted if too much is queued.
  Result<void> Send(wire::ToWorker kind, std::uint64_t cell, std::string_view head,
                    std::string_view body) override;

  void Attach(std::shared_ptr<CellProtocol> protocol) override;
  void Detach(CellProtocol& protocol) override;
  void ExpectStraySaveAnswer(std::uint64_t cell) override;

  // Calls `completion` at the end of the turn, or soon if there is no turn now.
  void Defer(std::move_only_function<void()> completion) override;
  // Requests a turn for Defer outside of one; set by the owner of the link.
  std::function<void()> request_turn;

  // Ends everything that is under way.
  void LoseAll(RunReason reason, const std::string& why);

  // Returns what is wrong at `now`: a cell is overdue, or the worker does not read. nullopt:
  // nothing.
  std::optional<std::string> Stuck(SteadyTime now);

  // While the lane polls the ring itself, the worker does not notify it. After it has stopped
  // polling, it checks the ring once more before it sleeps.
  void SetWatching(bool watching);
  // Another worker gets the core: this one need not poll for the host meanwhile.
  void LetSleep() { host_watches_.store(0, std::memory_order_relaxed); }
  bool Watch(std::int64_t time_ns) const { return reader_.Watch(time_ns); }

  std::size_t protocols() const { return protocols_.size(); }
  bool broken() const { return broken_; }

 private:
  struct Outgoing {
    wire::ToWorker kind;
    std::string bytes;
    std::size_t sent = 0;
  };
  // The messages that wait for one cell, in order.
  struct Queue {
    std::deque<Outgoing> messages;
    std::size_t bytes = 0;
  };

  Result<void> OnFrame(const wire::Frame& frame);
  Result<void> OnReady(const wire::Frame& frame);
  Result<void> WriteQueued();
  void TellUnsent(std::uint64_t cell, std::size_t bytes) const;
  void RunDeferred();
  void WakeReader();

  std::atomic<std::uint32_t>& host_watches_;
  wire::RingWriter writer_;
  wire::RingReader reader_;
  Boundary boundary_;
  std::optional<WorkerReady> ready_;
  std::unordered_map<std::uint64_t, std::shared_ptr<CellProtocol>> protocols_;
  std::deque<std::uint64_t> stray_saves_;
  std::unordered_map<std::uint64_t, Queue> queues_;  // Of cells for which something waits.
  // The same cells. The first one's first message is being written; then it is the next one's turn,
  // so that a cell with much to read does not delay the others.
  std::deque<std::uint64_t> turns_;
  std::size_t queued_bytes_ = 0;  // All messages except answers.
  std::vector<std::move_only_function<void()>> deferred_;
  bool in_turn_ = false;
  bool wrote_ = false;
  bool broken_ = false;
  std::uint64_t frames_read_ = 0;
  std::uint64_t frames_seen_ = 0;  // frames_read_ at the last call of Stuck.
  std::uint32_t seen_head_ = 0;
  std::optional<SteadyTime> unread_since_;
};

}  // namespace caisson
