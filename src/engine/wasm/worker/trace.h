// A Trace records the clock readings of a run and the results of its waits, so that a replay gets
// the same ones.
//
// It is written in parts, one for each call: part n holds what happened between call n - 1 and call
// n. The host stores a part before the effect of its call begins. A replay returns the recorded
// values, part by part. A build that reads its clocks more or less often than the recorded one is
// in step again at the next call.
//
//   part:   flags (kTraceCut) · real time and monotonic time when it began (u64 each) · entries
//   entry:  varint of (zigzag(difference to the last value of its kind) << 3 | kind)
//   A part in which nothing happened is empty.
//
// At most kMaxTraceBytes are recorded. After that the trace is cut: the current part has only its
// flags, and nothing is recorded until Renew(), which is called when the cell is saved. A cut trace
// cannot be replayed from the beginning. The parts recorded after Renew() can be replayed in a cell
// that is restored from that save.
//
// Trust     Parts to replay come from the host's store. They are parsed as if they were damaged.
// Threads   The worker's only thread.
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
  // Continues the recording of a saved run that has made `calls` calls. `part` and `bytes` are the
  // saved values of part() and bytes().
  void Continue(ReadBase read_base, std::uint32_t calls, std::string part, std::uint64_t bytes);
  void Stop() { *this = {}; }
  bool records() const { return static_cast<bool>(read_base_); }

  // Sets the parts to replay: for each part u32 number, u32 length, bytes; in order. Call it after
  // Begin or Continue. Returns false if they are damaged.
  bool Replay(std::string_view parts);

  // Returns the next recorded value of this kind, and the base of its part. nullopt: the replay is
  // over, or the recorded build did not make this reading; the caller must read the clock and
  // record the value.
  std::optional<TraceEntry> NextReading(TraceKind kind) { return Next(kind, kind); }
  std::optional<TraceEntry> NextWait() {
    return Next(TraceKind::kTimedOut, TraceKind::kSleepsUntil);
  }
  const Base& replayed_base() const { return replayed_base_; }
  void Record(TraceEntry entry);

  // Called when the run makes a call. Returns the part that ends there.
  std::string EndPart();
  // Returns the current part as if it ended here. `sleeps_until`: the run is in a wait that ends
  // then.
  std::string Unfinished(std::optional<std::uint64_t> sleeps_until) const;
  // If the trace is cut, starts to record again.
  void Renew();

  const std::string& part() const { return part_; }
  std::uint64_t bytes() const { return bytes_; }  // Recorded since the beginning or since Renew().

 private:
  static constexpr std::size_t kKinds = 7;
  // A position in a part: the next entry, and the last values before it.
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

  // Parts not replayed yet; the first one belongs to call calls_ or later.
  std::deque<Given> given_;
  // The position of the replay in the part of calls_, for each clock and (last) for waits.
  std::array<Cursor, 5> replay_{};
  Base replayed_base_;
};

}  // namespace caisson::worker
