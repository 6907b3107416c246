// A Trace records what a run was told by its clocks and how its waits ended, so that a replay is told the same.
//
// It is written in parts, one for each call: part n is what happened between call n - 1 and call n. The host stores a
// part before the effect of its call begins. A replay gives the recorded values back, part by part: a build that reads
// its clocks more or less often than the recorded one is in step again at the next call.
//
//   part:   flags (kTraceCut) · real time and monotonic time when it began (u64 each) · entries
//   entry:  varint of (zigzag(difference to the last value of its kind) << 3 | kind)
//   A part in which nothing happened is empty.
//
// At most kMaxTraceBytes are recorded. After that the trace is cut: the current part has only its flags, and nothing is
// recorded until Renew(), which is called when the cell is saved. A cut trace cannot be replayed from the beginning. What
// was recorded after Renew() can be replayed in a cell that is restored from that save.
//
// Trust     Parts to be replayed are the host's, from its store: they are parsed as if they were damaged.
// Threads   The worker's one thread.
// Lifetime  A value, for one run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace caisson::worker {

enum class TraceKind : std::uint8_t {
  // Readings, in the order of ClockId.
  kRealtime = 0,
  kMonotonic = 1,
  kProcessCpu = 2,
  kThreadCpu = 3,
  // Ends of waits.
  kTimedOut = 4,
  kAnswered = 5,    // Value: the number of the call.
  kSleepsUntil = 6  // Value: a real time. Only at the end of Unfinished(): the wait has not ended.
};

struct TraceEntry {
  TraceKind kind;
  std::uint64_t value = 0;
};

class Trace {
 public:
  struct Base {
    std::uint64_t real_ns = 0;
    std::uint64_t monotonic_ns = 0;
  };
  using ReadBase = std::function<Base()>;

  // Begins to record a run that has made no call. `read_base` reads the cell's clocks.
  void Begin(ReadBase read_base);
  // Goes on with a saved run that has made `calls` calls; `part` and `bytes` are what part() and bytes() were.
  void Continue(ReadBase read_base, std::uint32_t calls, std::string part, std::uint64_t bytes);
  void Stop() { *this = {}; }
  bool records() const { return static_cast<bool>(read_base_); }

  // What is to be replayed: for each part u32 number, u32 length, bytes; in order. After Begin or Continue. False: damaged.
  bool Replay(std::string_view parts);

  // The next recorded value of this kind, and the base of its part. Nothing: the replay is over, or the recorded build did
  // not ask for it; it is to be read, and recorded.
  std::optional<TraceEntry> NextReading(TraceKind kind) { return Next(kind, kind); }
  std::optional<TraceEntry> NextWait() {
    return Next(TraceKind::kTimedOut, TraceKind::kSleepsUntil);
  }
  const Base& replayed_base() const { return replayed_base_; }
  void Record(TraceEntry entry);

  // The run makes a call: returns the part that ends there.
  std::string EndPart();
  // The current part, as if it ended here; `sleeps_until`: the run is in a wait that ends then.
  std::string Unfinished(std::optional<std::uint64_t> sleeps_until) const;
  // If the trace is cut, records again from here.
  void Renew();

  const std::string& part() const { return part_; }
  std::uint64_t bytes() const { return bytes_; }  // Recorded since the beginning, or since Renew().

 private:
  static constexpr std::size_t kKinds = 7;
  // A place in a part: the next entry, and the last values before it.
  struct Cursor {
    std::size_t at = 0;
    std::array<std::uint64_t, kKinds> last{};
  };
  struct Given {
    std::uint32_t number = 0;
    std::string bytes;
  };

  static std::optional<TraceEntry> Read(std::string_view part, Cursor& cursor);
  static Base BaseOf(std::string_view part);
  static Cursor FirstOf(std::string_view part);
  static void Append(std::string& part, Cursor& cursor, TraceEntry entry);
  std::optional<TraceEntry> Next(TraceKind first, TraceKind last);
  void Open(std::uint8_t flags);
  void AlignReplay();

  ReadBase read_base_;
  std::uint32_t calls_ = 0;
  std::string part_;
  Cursor end_;  // Of part_.
  std::uint64_t bytes_ = 0;
  bool full_ = false;

  std::deque<Given> given_;  // Not yet passed; the first one is of call calls_ or later.
  // Where the replay is in the part of calls_, for each clock and for waits (the last one).
  std::array<Cursor, 5> replay_{};
  Base replayed_base_;
};

}  // namespace caisson::worker
