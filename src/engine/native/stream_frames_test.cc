#include "engine/native/stream_frames.h"

#include <gtest/gtest.h>

#include <cstring>

#include "wire/fork_server_messages.h"
#include "wire/ring.h"

namespace caisson {
namespace {

std::string Frame(std::uint16_t kind, std::string_view payload) {
  const wire::StreamFrame header{
      .length = static_cast<std::uint32_t>(payload.size()), .kind = kind, .flags = 0};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + std::string(payload);
}

TEST(StreamFramesTest, FramesComeOutHoweverTheBytesArrive) {
  const std::string stream = Frame(3, "call") + Frame(4, "") + Frame(8, std::string(60'000, 'x'));
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{7}, std::size_t{4096}, stream.size()}) {
    StreamFrames frames;
    std::vector<std::pair<int, std::size_t>> seen;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      frames.Add(std::string_view(stream).substr(at, step));
      for (;;) {
        auto next = frames.Next();
        ASSERT_TRUE(next);
        if (!next->has_value()) break;
        seen.emplace_back((*next)->kind, (*next)->payload.size());
      }
    }
    EXPECT_EQ(seen, (std::vector<std::pair<int, std::size_t>>{{3, 4}, {4, 0}, {8, 60'000}}));
  }
}

TEST(StreamFramesTest, AFrameBeyondTheLongestIsRefusedBeforeItIsThere) {
  StreamFrames frames;
  const wire::StreamFrame header{
      .length = static_cast<std::uint32_t>(wire::kMaxFramePayload) + 1, .kind = 3, .flags = 0};
  frames.Add({reinterpret_cast<const char*>(&header), sizeof header});
  EXPECT_FALSE(frames.Next());
}

}  // namespace
}  // namespace caisson
