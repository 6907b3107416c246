#include "net/stdio/line_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <string_view>
#include <vector>

#include "base/spawn.h"

namespace caisson {
namespace {

// The stream uses one end of a socket pair; the test has the other.
class LineStreamTest : public testing::Test {
 protected:
  LineStreamTest() {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    peer_ = UniqueFd(pair[1]);
    LineStreamOptions options{
        .input = UniqueFd(pair[0]), .output = UniqueFd(::dup(pair[0])), .max_line_bytes = 100};
    stream_.emplace(context_.get_executor(), std::move(options));
  }

  void Send(std::string_view text) {
    EXPECT_EQ(::write(peer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void HangUp() { peer_ = UniqueFd(); }

  std::vector<Line> ReadAll() {
    std::vector<Line> lines;
    const auto read = [&]() -> asio::awaitable<void> {
      while (auto line = co_await stream_->Read()) lines.push_back(*std::move(line));
    };
    Spawn(context_.get_executor(), read());
    context_.run();
    return lines;
  }

  asio::io_context context_;
  UniqueFd peer_;
  std::optional<LineStream> stream_;
};

TEST_F(LineStreamTest, ReturnsLinesOneByOneAndTheRestAtTheEnd) {
  Send("one\n\nthree\nrest");
  HangUp();
  const auto lines = ReadAll();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].text, "one");
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[3].text, "rest");
}

TEST_F(LineStreamTest, DropsALineThatIsTooLongAndGoesOn) {
  Send(std::string(250, 'x') + "\nafter\n");
  HangUp();
  const auto lines = ReadAll();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].too_long);
  EXPECT_EQ(lines[0].text, "");
  EXPECT_EQ(lines[1].text, "after");
}

TEST_F(LineStreamTest, QueuesLinesForASlowPeer) {
  const std::string line(1u << 16, 'y');
  for (int i = 0; i < 64; ++i) stream_->Write(line);
  context_.poll();
  EXPECT_GT(stream_->unsent_bytes(), 0u);
  EXPECT_FALSE(stream_->is_deaf());
}

TEST_F(LineStreamTest, NoticesThatNobodyListens) {
  HangUp();
  stream_->Write("hello");
  context_.run();
  EXPECT_TRUE(stream_->is_deaf());
  EXPECT_EQ(stream_->unsent_bytes(), 0u);
}

TEST_F(LineStreamTest, FlushReturnsWhenAllIsWritten) {
  stream_->Write("a");
  stream_->Write("b");
  Spawn(context_.get_executor(), stream_->Flush());
  context_.run();
  char text[8] = {};
  EXPECT_EQ(::read(peer_.get(), text, sizeof text), 4);
  EXPECT_EQ(std::string_view(text), "a\nb\n");
}

}  // namespace
}  // namespace caisson

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ::signal(SIGPIPE, SIG_IGN);  // As the program does at start.
  return RUN_ALL_TESTS();
}
