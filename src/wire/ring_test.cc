#include "wire/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace caisson::wire {
namespace {

constexpr std::size_t kBytes = 256 << 10;

class RingTest : public ::testing::Test {
 protected:
  RingHeader header{};
  std::vector<std::uint8_t> data = std::vector<std::uint8_t>(kBytes);
  RingWriter writer{header, data};
  RingReader reader{header, data};
};

TEST_F(RingTest, CarriesFramesInOrder) {
  ASSERT_TRUE(writer.Write(1, 0, 7, "first ", "second"));
  ASSERT_TRUE(writer.Write(2, kMoreFollows, 8, ""));
  auto frame = reader.Next();
  ASSERT_TRUE(frame && frame->has_value());
  EXPECT_EQ((*frame)->kind, 1);
  EXPECT_EQ((*frame)->flags, 0);
  EXPECT_EQ((*frame)->cell, 7u);
  EXPECT_EQ((*frame)->payload, "first second");
  frame = reader.Next();
  ASSERT_TRUE(frame && frame->has_value());
  EXPECT_EQ((*frame)->kind, 2);
  EXPECT_EQ((*frame)->flags, kMoreFollows);
  EXPECT_EQ((*frame)->payload, "");
  frame = reader.Next();
  ASSERT_TRUE(frame);
  EXPECT_FALSE(frame->has_value());
}

TEST_F(RingTest, WrapsAroundAtEveryOffset) {
  // Odd lengths, so that headers and payloads cross the end of the ring in all ways.
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    const std::string payload(1 + i * 37 % 211, static_cast<char>('a' + i % 26));
    const std::size_t split = std::min<std::size_t>(i % 5, payload.size());
    ASSERT_TRUE(writer.Write(3, 0, i, payload.substr(0, split), payload.substr(split)));
    auto frame = reader.Next();
    ASSERT_TRUE(frame && frame->has_value());
    ASSERT_EQ((*frame)->cell, i);
    ASSERT_EQ((*frame)->payload, payload);
  }
}

TEST_F(RingTest, AFullRingSaysSoAndAsksToBeTold) {
  const std::string payload(kMaxFramePayload, 'x');
  int written = 0;
  while (writer.Write(1, 0, 0, payload)) ++written;
  EXPECT_EQ(written, 3);
  auto full = writer.Write(1, 0, 0, payload);
  EXPECT_EQ(full.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(header.writer_waits.load(), 1u);
  ASSERT_TRUE(reader.Next());
  EXPECT_TRUE(reader.TakeWriterWaits());
  EXPECT_FALSE(reader.TakeWriterWaits());
  EXPECT_TRUE(writer.Write(1, 0, 0, payload));
}

TEST_F(RingTest, TellsWhetherTheReaderWasDone) {
  ASSERT_TRUE(writer.Write(1, 0, 0, "a"));
  EXPECT_TRUE(writer.reader_was_done());
  ASSERT_TRUE(writer.Write(1, 0, 0, "b"));
  EXPECT_FALSE(writer.reader_was_done());
  ASSERT_TRUE(reader.Next());
  ASSERT_TRUE(reader.Next());
  ASSERT_TRUE(writer.Write(1, 0, 0, "c"));
  EXPECT_TRUE(writer.reader_was_done());
}

TEST_F(RingTest, RefusesAPayloadThatIsTooLong) {
  const std::string payload(kMaxFramePayload, 'x');
  auto refused = writer.Write(1, 0, 0, payload, "y");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().code(), ErrorCode::kResourceExhausted);
}

TEST_F(RingTest, TheReaderRefusesImpossiblePositions) {
  for (const std::uint32_t lie :
       {1u, 8u, 15u, static_cast<std::uint32_t>(kBytes) + 8, 0x8000'0000u, 0xFFFF'FFF8u}) {
    header.tail.store(lie);
    EXPECT_FALSE(reader.Next()) << lie;
  }
  EXPECT_EQ(reader.position(), 0u);
}

TEST_F(RingTest, TheReaderRefusesImpossibleLengths) {
  for (const std::uint32_t lie : {25u, 1000u, static_cast<std::uint32_t>(kMaxFramePayload) + 1,
                                  0x7FFF'FFFFu, 0xFFFF'FFFFu, 0xFFFF'FFF0u}) {
    const FrameHeader frame{lie, 1, 0, 0};
    std::memcpy(data.data(), &frame, sizeof frame);
    header.tail.store(sizeof(FrameHeader) + 24);
    EXPECT_FALSE(reader.Next()) << lie;
  }
}

TEST_F(RingTest, TheWriterRefusesAReaderAheadOfIt) {
  ASSERT_TRUE(writer.Write(1, 0, 0, "a"));
  for (const std::uint32_t lie : {25u, 1000u, 0x8000'0000u}) {
    header.head.store(lie);
    auto refused = writer.Write(1, 0, 0, "b");
    ASSERT_FALSE(refused) << lie;
    EXPECT_NE(refused.error().code(), ErrorCode::kResourceExhausted) << lie;
  }
}

TEST_F(RingTest, KeepsItsOwnPositionWhenThePublishedOneChanges) {
  ASSERT_TRUE(writer.Write(1, 0, 0, "a"));
  header.tail.store(12345);  // The peer overwrites the published position...
  ASSERT_TRUE(writer.Write(1, 0, 1, "b"));
  ASSERT_TRUE(reader.Next());
  auto frame = reader.Next();  // ...but the next frame is read from the right place.
  ASSERT_TRUE(frame && frame->has_value());
  EXPECT_EQ((*frame)->payload, "b");
}

TEST_F(RingTest, APayloadIsStableWhileThePeerOverwritesIt) {
  ASSERT_TRUE(writer.Write(1, 0, 0, "stable"));
  auto frame = reader.Next();
  ASSERT_TRUE(frame && frame->has_value());
  std::fill(data.begin(), data.end(), std::uint8_t{0xFF});
  EXPECT_EQ((*frame)->payload, "stable");
}

TEST_F(RingTest, TwoThreadsLoseNothingAndNeverHang) {
  constexpr std::uint64_t kFrames = 200'000;
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < kFrames; ++i) {
      const std::string payload(i % 300, static_cast<char>(i));
      while (!writer.Write(1, 0, i, payload)) {
        const std::uint32_t head = header.head.load();
        if (header.writer_waits.load() != 0) FutexWait(header.head, head, 1'000'000'000);
      }
      if (writer.reader_waits()) FutexWake(header.tail);
    }
  });
  for (std::uint64_t i = 0; i < kFrames;) {
    auto frame = reader.Next();
    ASSERT_TRUE(frame);
    if (frame->has_value()) {
      ASSERT_EQ((*frame)->cell, i);
      ASSERT_EQ((*frame)->payload.size(), i % 300);
      ++i;
      if (reader.TakeWriterWaits()) FutexWake(header.head);
      continue;
    }
    header.reader_waits.store(1);
    if (reader.empty()) FutexWait(header.tail, reader.position(), 1'000'000'000);
    header.reader_waits.store(0);
  }
  sender.join();
}

}  // namespace
}  // namespace caisson::wire
