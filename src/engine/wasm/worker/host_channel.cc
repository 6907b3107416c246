#include "engine/wasm/worker/host_channel.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace caisson::worker {

Result<HostChannel> HostChannel::Open(UniqueFd memory, UniqueFd notify) {
  void* map =
      ::mmap(nullptr, wire::kChannelBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (map == MAP_FAILED) return Error::FromErrno(errno, "map the channel");
  auto* bytes = static_cast<std::uint8_t*>(map);
  return HostChannel(std::move(notify), *reinterpret_cast<wire::ChannelLayout*>(bytes),
                     bytes + wire::kChannelHeaderBytes);
}

HostChannel::HostChannel(UniqueFd notify, wire::ChannelLayout& layout, std::uint8_t* rings)
    : notify_(std::move(notify)),
      host_watches_(layout.host_watches),
      reader_(layout.to_worker, {rings, wire::kRingBytes}),
      writer_(layout.to_host, {rings + wire::kRingBytes, wire::kRingBytes}) {}

void HostChannel::SendPart(wire::ToHost kind, std::uint64_t cell, std::string_view first,
                           std::string_view second, bool more) {
  while (true) {
    auto written = writer_.Write(static_cast<std::uint16_t>(kind), more ? wire::kMoreFollows : 0,
                                 cell, first, second);
    if (written) return Notify();
    if (written.error().code() != ErrorCode::kResourceExhausted) std::abort();
    const std::uint32_t head = writer_.header().head.load(std::memory_order_seq_cst);
    if (writer_.header().writer_waits.load(std::memory_order_seq_cst) != 0) {
      wire::FutexWait(writer_.header().head, head, 100'000'000);
    }
  }
}

void HostChannel::Send(wire::ToHost kind, std::uint64_t cell, std::string_view first,
                       std::string_view second) {
  // `first` is a header of ours and always fits into a frame; only `second` can be long.
  bool more = true;
  while (more) {
    const std::string_view part = second.substr(0, wire::kMaxFramePayload - first.size());
    more = part.size() < second.size();
    SendPart(kind, cell, first, part, more);
    first = {};
    second.remove_prefix(part.size());
  }
}

bool HostChannel::TrySend(wire::ToHost kind, std::uint64_t cell, std::string_view first,
                          std::string_view second) {
  auto written = writer_.Write(static_cast<std::uint16_t>(kind), 0, cell, first, second);
  if (!written) {
    if (written.error().code() != ErrorCode::kResourceExhausted) std::abort();
    return false;
  }
  Notify();
  return true;
}

void HostChannel::Notify() {
  if (!writer_.reader_was_done() || !writer_.reader_waits()) return;
  const std::uint64_t one = 1;
  // An eventfd accepts 2^64 - 2 of these before it would block.
  if (::write(notify_.get(), &one, sizeof one) != sizeof one) std::abort();
}

std::optional<wire::Frame> HostChannel::Next() {
  auto frame = reader_.Next();
  if (!frame) std::abort();
  if (frame->has_value() && reader_.TakeWriterWaits()) {
    const std::uint64_t one = 1;
    if (::write(notify_.get(), &one, sizeof one) != sizeof one) std::abort();
  }
  return *frame;
}

// Polls only as long as the host does: when the host turns to another worker on this core, that one
// needs the core.
bool HostChannel::Watch(std::int64_t time_ns) const {
  constexpr std::int64_t kSliceNs = wire::kWatchNs / 20;
  for (; time_ns > 0 && host_watches_.load(std::memory_order_relaxed) != 0; time_ns -= kSliceNs) {
    if (reader_.Watch(std::min(time_ns, kSliceNs))) return true;
  }
  return false;
}

void HostChannel::Wait(std::int64_t timeout_ns) {
  if (host_watches_.load(std::memory_order_relaxed) != 0) {
    const bool short_wait = timeout_ns >= 0 && timeout_ns < wire::kWatchNs;
    if (Watch(short_wait ? timeout_ns : wire::kWatchNs) || short_wait) return;
  }
  std::atomic<std::uint32_t>& waits = reader_.header().reader_waits;
  waits.store(1, std::memory_order_seq_cst);
  if (reader_.empty()) {
    wire::FutexWait(reader_.header().tail, reader_.position(), timeout_ns);
  }
  waits.store(0, std::memory_order_seq_cst);
}

}  // namespace caisson::worker
