#include "wire/ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>

namespace caisson::wire {
namespace {

constexpr std::uint32_t Padded(std::size_t length) {
  return static_cast<std::uint32_t>((length + 7) & ~std::size_t{7});
}

std::int64_t MonotonicNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

Error Broken(const char* what) {
  return Error(ErrorCode::kInternal, what);
}

}  // namespace

RingWriter::RingWriter(RingHeader& header, std::span<std::uint8_t> data)
    : header_(header), data_(data) {}

Result<void> RingWriter::Write(std::uint16_t kind, std::uint16_t flags, std::uint64_t cell,
                               std::string_view first, std::string_view second) {
  const std::size_t length = first.size() + second.size();
  if (length > kMaxFramePayload) return Broken("frame payload too long");
  const auto capacity = static_cast<std::uint32_t>(data_.size());
  const std::uint32_t need = sizeof(FrameHeader) + Padded(length);

  std::uint32_t unread = tail_ - header_.head.load(std::memory_order_seq_cst);
  if (unread > capacity) return Broken("the ring's reader is ahead of its writer");
  if (capacity - unread < need) {
    // Ask first, then check again: the reader may have made room between the check and the request.
    header_.writer_waits.store(1, std::memory_order_seq_cst);
    unread = tail_ - header_.head.load(std::memory_order_seq_cst);
    if (unread > capacity) return Broken("the ring's reader is ahead of its writer");
    if (capacity - unread < need) return Error(ErrorCode::kResourceExhausted, "the ring is full");
    header_.writer_waits.store(0, std::memory_order_seq_cst);
  }

  const FrameHeader frame{static_cast<std::uint32_t>(length), kind, flags, cell};
  Put(tail_, {reinterpret_cast<const char*>(&frame), sizeof frame});
  Put(tail_ + sizeof frame, first);
  Put(tail_ + static_cast<std::uint32_t>(sizeof frame + first.size()), second);

  const std::uint32_t before = tail_;
  tail_ += need;
  // Publish first, then check if the reader had reached the old end. Both are in one total order,
  // so either the reader sees the new tail before it sleeps, or this side sees that it must wake
  // it.
  header_.tail.store(tail_, std::memory_order_seq_cst);
  reader_was_done_ = header_.head.load(std::memory_order_seq_cst) == before;
  return {};
}

void RingWriter::Put(std::uint32_t position, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t at = position & (data_.size() - 1);
  const std::size_t until_end = std::min(bytes.size(), data_.size() - at);
  std::memcpy(data_.data() + at, bytes.data(), until_end);
  std::memcpy(data_.data(), bytes.data() + until_end, bytes.size() - until_end);
}

RingReader::RingReader(RingHeader& header, std::span<const std::uint8_t> data)
    : header_(header), data_(data) {
  payload_.resize(kMaxFramePayload);
}

Result<std::optional<Frame>> RingReader::Next() {
  const std::uint32_t unread = header_.tail.load(std::memory_order_seq_cst) - head_;
  if (unread == 0) return std::optional<Frame>();
  if (unread > data_.size() || unread < sizeof(FrameHeader)) {
    return Broken("the ring's writer published an impossible position");
  }
  FrameHeader frame;
  Get(head_, reinterpret_cast<char*>(&frame), sizeof frame);
  const std::uint32_t size = sizeof frame + Padded(frame.length);
  if (frame.length > kMaxFramePayload || size > unread) {
    return Broken("a frame is longer than what was written");
  }
  Get(head_ + static_cast<std::uint32_t>(sizeof frame), payload_.data(), frame.length);
  head_ += size;
  header_.head.store(head_, std::memory_order_seq_cst);
  return std::optional(
      Frame{frame.kind, frame.flags, frame.cell, std::string_view(payload_.data(), frame.length)});
}

bool RingReader::Watch(std::int64_t time_ns) const {
  const std::int64_t until = MonotonicNs() + time_ns;
  do {
    for (int i = 0; i < 16; ++i) {
      if (!empty()) return true;
      __builtin_ia32_pause();
    }
  } while (MonotonicNs() < until);
  return false;
}

bool RingReader::TakeWriterWaits() {
  return header_.writer_waits.load(std::memory_order_seq_cst) != 0 &&
         header_.writer_waits.exchange(0, std::memory_order_seq_cst) != 0;
}

void RingReader::Get(std::uint32_t position, char* out, std::size_t length) const {
  const std::size_t at = position & (data_.size() - 1);
  const std::size_t until_end = std::min(length, data_.size() - at);
  std::memcpy(out, data_.data() + at, until_end);
  std::memcpy(out + until_end, data_.data(), length - until_end);
}

void FutexWait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
               std::int64_t timeout_ns) {
  timespec timeout{};
  timeout.tv_sec = timeout_ns / 1'000'000'000;
  timeout.tv_nsec = timeout_ns % 1'000'000'000;
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
}

void FutexWake(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace caisson::wire
