#include "engine/wasm/worker/trace.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/frames.h"

namespace caisson::worker {
namespace {

constexpr std::size_t kBaseBytes = 1 + 2 * sizeof(std::uint64_t);  // Flags and base.
constexpr unsigned kKindBits = 3;
// Real differences are far below this (18 years). A larger one is recorded as this value.
constexpr std::int64_t kMaxDifference = (std::int64_t{1} << 59) - 1;

template <typename T>
T LoadAt(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void AppendRaw(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

constexpr std::size_t IndexOf(TraceKind kind) {
  return static_cast<std::size_t>(kind);
}

}  // namespace

// ---- Parts ----

Trace::Base Trace::BaseOf(std::string_view part) {
  if (part.size() < kBaseBytes) return {};
  return {LoadAt<std::uint64_t>(part, 1), LoadAt<std::uint64_t>(part, 1 + sizeof(std::uint64_t))};
}

Trace::Cursor Trace::FirstOf(std::string_view part) {
  const Base base = BaseOf(part);
  Cursor cursor{.at = std::min(part.size(), kBaseBytes)};
  cursor.last[IndexOf(TraceKind::kRealtime)] = base.real_ns;
  cursor.last[IndexOf(TraceKind::kMonotonic)] = base.monotonic_ns;
  cursor.last[IndexOf(TraceKind::kSleepsUntil)] = base.real_ns;
  return cursor;
}

void Trace::Append(std::string& part, Cursor& cursor, TraceEntry entry) {
  std::uint64_t& last = cursor.last[IndexOf(entry.kind)];
  const std::int64_t difference = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(entry.value - last), -kMaxDifference, kMaxDifference);
  last += static_cast<std::uint64_t>(difference);
  const auto zigzag =
      static_cast<std::uint64_t>(difference) << 1 ^ static_cast<std::uint64_t>(difference >> 63);
  std::uint64_t rest = zigzag << kKindBits | IndexOf(entry.kind);
  for (; rest >= 0x80; rest >>= 7) part.push_back(static_cast<char>(rest | 0x80));
  part.push_back(static_cast<char>(rest));
  cursor.at = part.size();
}

std::optional<TraceEntry> Trace::Read(std::string_view part, Cursor& cursor) {
  std::uint64_t code = 0;
  unsigned shift = 0;
  bool more = true;
  while (more && shift < 64 && cursor.at < part.size()) {
    const auto byte = static_cast<std::uint8_t>(part[cursor.at++]);
    code |= std::uint64_t{byte & 0x7fU} << shift;
    shift += 7;
    more = (byte & 0x80) != 0;
  }
  const std::size_t kind = code & ((1U << kKindBits) - 1);
  if (more || kind >= kKinds) {
    cursor.at = part.size();  // The end, or damaged.
    return std::nullopt;
  }
  const std::uint64_t zigzag = code >> kKindBits;
  cursor.last[kind] += zigzag >> 1 ^ (~(zigzag & 1) + 1);
  return TraceEntry{static_cast<TraceKind>(kind), cursor.last[kind]};
}

// ---- Recording ----

void Trace::Begin(ReadBase read_base) {
  Stop();
  read_base_ = std::move(read_base);
}

void Trace::Continue(ReadBase read_base, std::uint32_t calls, std::string part,
                     std::uint64_t bytes) {
  Begin(std::move(read_base));
  calls_ = calls;
  bytes_ = bytes;
  part_ = std::move(part);
  end_ = FirstOf(part_);
  while (end_.at < part_.size()) static_cast<void>(Read(part_, end_));
}

void Trace::Open(std::uint8_t flags) {
  Base base = read_base_();
  if (!given_.empty() && given_.front().number == calls_ &&
      given_.front().bytes.size() >= kBaseBytes) {
    base = BaseOf(given_.front().bytes);
  }
  part_.assign(1, static_cast<char>(flags));
  AppendRaw(part_, base.real_ns);
  AppendRaw(part_, base.monotonic_ns);
  end_ = FirstOf(part_);
}

void Trace::Record(TraceEntry entry) {
  if (full_) return;
  if (part_.empty()) Open(0);
  const std::size_t before = part_.size();
  Append(part_, end_, entry);
  bytes_ += part_.size() - before;
  if (bytes_ <= wire::kMaxTraceBytes) return;
  full_ = true;
  part_.assign(1, static_cast<char>(wire::kTraceCut));
  part_.shrink_to_fit();
}

std::string Trace::EndPart() {
  std::string ended = std::exchange(part_, {});
  if (full_) part_ = ended;
  ++calls_;
  end_ = {};
  AlignReplay();
  return ended;
}

std::string Trace::Unfinished(std::optional<std::uint64_t> sleeps_until) const {
  if (!sleeps_until || full_) return part_;
  Trace copy = *this;
  copy.Record({TraceKind::kSleepsUntil, *sleeps_until});
  return std::move(copy.part_);
}

void Trace::Renew() {
  if (!full_) return;
  full_ = false;
  bytes_ = 0;
  Open(wire::kTraceCut);
}

// ---- Replaying ----

bool Trace::Replay(std::string_view parts) {
  while (!parts.empty()) {
    if (parts.size() < 2 * sizeof(std::uint32_t)) return false;
    const auto number = LoadAt<std::uint32_t>(parts, 0);
    const auto length = LoadAt<std::uint32_t>(parts, sizeof number);
    parts.remove_prefix(2 * sizeof number);
    const bool in_order = given_.empty() || given_.back().number < number;
    if (length > parts.size() || !in_order) return false;
    given_.push_back({number, std::string(parts.substr(0, length))});
    parts.remove_prefix(length);
  }
  AlignReplay();
  return true;
}

// The replay continues with the part of the next call, after the entries that this run has recorded
// of it.
void Trace::AlignReplay() {
  while (!given_.empty() && given_.front().number < calls_) given_.pop_front();
  if (given_.empty() || given_.front().number != calls_) return;
  const std::string_view given = given_.front().bytes;
  if (!given.starts_with(part_)) {  // It was cut after this run was saved.
    given_.pop_front();
    return;
  }
  Cursor start = FirstOf(given);
  while (start.at < part_.size()) static_cast<void>(Read(given, start));
  replay_.fill(start);
}

std::optional<TraceEntry> Trace::Next(TraceKind first, TraceKind last) {
  if (given_.empty() || given_.front().number != calls_) return std::nullopt;
  const std::string_view given = given_.front().bytes;
  Cursor& cursor = replay_[std::min(IndexOf(first), replay_.size() - 1)];
  while (auto entry = Read(given, cursor)) {
    if (entry->kind < first || entry->kind > last) continue;
    replayed_base_ = BaseOf(given);
    return entry;
  }
  return std::nullopt;
}

}  // namespace caisson::worker
