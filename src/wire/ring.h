// A ring carries frames in one direction between two processes through shared memory.
//
// Two positions count the bytes ever written and ever read; the bytes between them are unread. Each
// side keeps its own position in private memory and only publishes it. So the other side can stop
// the traffic, but cannot make us read or write outside the ring.
//
// Trust     The peer may write anything anywhere in the shared memory at any time. Headers and
//           payloads are copied out once and checked on the copy. An impossible position or length
//           is an error, and the caller must kill the peer (I9).
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

// The shared words of one direction, each on its own cache line.
struct RingHeader {
  alignas(64) std::atomic<std::uint32_t> tail;          // Written by the writer.
  alignas(64) std::atomic<std::uint32_t> head;          // Written by the reader.
  alignas(64) std::atomic<std::uint32_t> reader_waits;  // 1: the reader sleeps on `tail`.
  alignas(64) std::atomic<std::uint32_t> writer_waits;  // 1: the writer waits for free space.
};

struct FrameHeader {
  std::uint32_t length;  // Of the payload that follows.
  std::uint16_t kind;
  std::uint16_t flags;
  std::uint64_t cell;  // The cell of this frame. The host chooses the number and never reuses it.
};
static_assert(sizeof(FrameHeader) == 16);

// Set on every frame of a message but the last. The reader joins the payloads.
inline constexpr std::uint16_t kMoreFollows = 1;

inline constexpr std::size_t kMaxFramePayload = 64 << 10;

struct Frame {
  std::uint16_t kind = 0;
  std::uint16_t flags = 0;
  std::uint64_t cell = 0;
  std::string_view payload;  // In the reader's private memory; valid until its next Next().
};

class RingWriter {
 public:
  // The size of `data` is a power of two, at least twice kMaxFramePayload.
  RingWriter(RingHeader& header, std::span<std::uint8_t> data);

  // Appends a frame whose payload is `first` then `second`, together at most kMaxFramePayload
  // bytes. Fails with kResourceExhausted if there is no room now; the reader has then been asked to
  // signal free space. Any other error: the reader's position is impossible.
  Result<void> Write(std::uint16_t kind, std::uint16_t flags, std::uint64_t cell,
                     std::string_view first, std::string_view second = {});

  // Returns true if the reader had read everything before the last Write, so that it may sleep.
  bool reader_was_done() const { return reader_was_done_; }
  // Returns true if the reader sleeps on the tail now. Call it after Write.
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

  // Returns the next frame, or nullopt if there is none. An error means that the writer broke the
  // rules.
  Result<std::optional<Frame>> Next();

  // Returns true if the writer asked for space since the last call. The caller then wakes it.
  bool TakeWriterWaits();

  // The position up to which everything has been read. A sleeper compares the tail with it.
  std::uint32_t position() const { return head_; }
  bool empty() const { return header_.tail.load(std::memory_order_seq_cst) == head_; }

  // Polls for frames without sleeping, for at most `time_ns`. Returns true if there are any.
  bool Watch(std::int64_t time_ns) const;

  RingHeader& header() { return header_; }

 private:
  void Get(std::uint32_t position, char* out, std::size_t length) const;

  RingHeader& header_;
  std::span<const std::uint8_t> data_;
  std::uint32_t head_ = 0;
  std::string payload_;
};

// Sleeps until `word` differs from `seen` or `timeout_ns` has passed (negative: no limit). May
// return early. Works across processes that share the memory.
void FutexWait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeout_ns);
void FutexWake(const std::atomic<std::uint32_t>& word);

}  // namespace caisson::wire
