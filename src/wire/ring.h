// A ring carries frames one way between two processes through shared memory.
//
// Two positions count bytes ever written and ever read; what lies between them is unread. Each side
// keeps its own position in private memory and only publishes it, so the other side can at worst stop
// the traffic, never make us read or write outside the ring.
//
// Trust     The peer may write anything anywhere in the shared memory at any time. Headers and
//           payloads are copied out once and checked on the copy; a position or length that cannot
//           be is an error, and the peer is to be killed (I9).
// Threads   One writer and one reader, each single-threaded.
// Lifetime  Both borrow the mapping, which must outlive them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson::wire {

// The shared words of one direction, each on a cache line of its own.
struct RingHeader {
  alignas(64) std::atomic<std::uint32_t> tail;          // Written by the writer.
  alignas(64) std::atomic<std::uint32_t> head;          // Written by the reader.
  alignas(64) std::atomic<std::uint32_t> reader_waits;  // 1: the reader sleeps on `tail`.
  alignas(
      64) std::atomic<std::uint32_t> writer_waits;  // 1: the writer wants to hear of free space.
};

struct FrameHeader {
  std::uint32_t length;  // Of the payload that follows.
  std::uint16_t kind;
  std::uint16_t flags;
  std::uint64_t cell;  // Which cell's frame it is; chosen by the host, never reused by it.
};
static_assert(sizeof(FrameHeader) == 16);

// Set on every frame of a message but the last: the payloads of one message are to be joined.
inline constexpr std::uint16_t kMoreFollows = 1;

inline constexpr std::size_t kMaxFramePayload = 64 << 10;

struct Frame {
  std::uint16_t kind = 0;
  std::uint16_t flags = 0;
  std::uint64_t cell = 0;
  std::string_view payload;  // Private memory of the reader; valid until its next Next().
};

class RingWriter {
 public:
  // `data` has a power of two of bytes, at least twice kMaxFramePayload.
  RingWriter(RingHeader& header, std::span<std::uint8_t> data);

  // Appends a frame whose payload is `first` then `second`. kResourceExhausted: no room now, and the
  // reader has been asked to tell when there is. Any other error: the reader lies about its position.
  // `payload` is at most kMaxFramePayload long.
  Result<void> Write(std::uint16_t kind, std::uint16_t flags, std::uint64_t cell,
                     std::string_view first, std::string_view second = {});

  // Whether the reader had read everything before the last Write, and so may be asleep.
  bool reader_was_done() const { return reader_was_done_; }
  // Whether the reader sleeps on the tail right now (call after Write).
  bool reader_waits() const { return header_.reader_waits.load(std::memory_order_seq_cst) != 0; }

  RingHeader& header() { return header_; }

 private:
  void Put(std::uint32_t position, std::string_view bytes);

  RingHeader& header_;
  std::span<std::uint8_t> data_;
  std::uint32_t tail_ = 0;
  bool reader_was_done_ = false;
};

class RingReader {
 public:
  RingReader(RingHeader& header, std::span<const std::uint8_t> data);

  // The next frame, or nothing. An error means that the writer broke the rules.
  Result<std::optional<Frame>> Next();

  // Whether the writer asked for space since the last call; the caller then wakes it.
  bool TakeWriterWaits();

  // What to compare with to sleep: the position up to which everything has been read.
  std::uint32_t position() const { return head_; }
  bool empty() const { return header_.tail.load(std::memory_order_seq_cst) == head_; }

  // Watches for frames without sleeping, for at most this long. Whether there are any.
  bool Watch(std::int64_t time_ns) const;

  RingHeader& header() { return header_; }

 private:
  void Get(std::uint32_t position, char* out, std::size_t length) const;

  RingHeader& header_;
  std::span<const std::uint8_t> data_;
  std::uint32_t head_ = 0;
  std::string payload_;
};

// Sleeps until `word` differs from `seen` or `timeout_ns` has passed (negative: no limit). May return
// early. Works across processes that share the memory.
void FutexWait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeout_ns);
void FutexWake(const std::atomic<std::uint32_t>& word);

}  // namespace caisson::wire
