#include "protocol/mcp/output_feed.h"

#include <array>
#include <boost/asio/post.hpp>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/utf8.h"

namespace caisson::mcp {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr std::size_t kTailBytes = 500;

// Takes `bytes` except an incomplete character at the end.
std::string TakeText(std::string& bytes) {
  std::size_t end = bytes.size();
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    if (needs > back) end = bytes.size() - back;
    break;
  }
  std::string text = ToUtf8(std::string_view(bytes).substr(0, end));
  bytes.erase(0, end);
  return text;
}

// Returns the last lines of `text`, starting at a line if a whole one fits.
std::string TailOf(std::string_view text) {
  if (text.size() > kTailBytes) {
    text.remove_prefix(text.size() - kTailBytes);
    const std::size_t line = text.find('\n');
    if (line != text.npos && line + 1 < text.size()) text.remove_prefix(line + 1);
    // Does not split a character.
    while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80) {
      text.remove_prefix(1);
    }
  }
  return std::string(text);
}

std::string TextOf(double number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

// "copy: 3/10 b.txt"
std::string TextOf(const std::string& tool, const ToolProgress& progress) {
  std::string text = tool + ": " + TextOf(progress.done);
  if (progress.total) text.append("/" + TextOf(*progress.total));
  if (!progress.message.empty()) text.append(" " + ToUtf8(progress.message));
  return text;
}

}  // namespace

void OutputFeed::OnOutput(OutputStream stream, std::string_view bytes) {
  asio::post(timer_.get_executor(), [self = shared_from_this(), stream,
                                     bytes = std::string(bytes)] { self->Take(stream, bytes); });
}

void OutputFeed::OnProgress(const std::string& tool, const ToolProgress& progress) {
  const bool waiting = !std::exchange(*latest_progress_.Lock(), TextOf(tool, progress)).empty();
  if (waiting) return;
  asio::post(timer_.get_executor(), [self = shared_from_this()] { self->TakeProgress(); });
}

void OutputFeed::Close() {
  if (taken_ > told_) Tell();
  exchange_ = nullptr;
  timer_.cancel();
}

void OutputFeed::Take(OutputStream stream, const std::string& bytes) {
  if (exchange_ == nullptr) return;
  UntoldOf(stream).append(bytes);
  Took(static_cast<std::int64_t>(bytes.size()));
}

void OutputFeed::TakeProgress() {
  std::string latest = std::exchange(*latest_progress_.Lock(), {});
  if (exchange_ == nullptr) return;
  progress_ = std::move(latest);
  Took(1);
}

void OutputFeed::Took(std::int64_t news) {
  taken_ += news;
  if (!pausing_) Tell();
}

void OutputFeed::Tell() {
  for (const OutputStream stream : {OutputStream::kStdout, OutputStream::kStderr}) {
    std::string text = TakeText(UntoldOf(stream));
    if (text.empty()) continue;
    tail_ = TailOf(tail_ + text);
    exchange_->Log(LogLevel::kDebug, stream == OutputStream::kStdout ? "stdout" : "stderr",
                   std::move(text));
  }
  told_ = taken_;
  const bool apart = !tail_.empty() && !tail_.ends_with('\n') && !progress_.empty();
  exchange_->Progress(told_, std::nullopt, tail_ + (apart ? "\n" : "") + progress_);
  Pause();
}

void OutputFeed::Pause() {
  pausing_ = true;
  timer_.expires_after(kPause);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    self->pausing_ = false;
    if (cancelled || self->exchange_ == nullptr) return;
    if (self->taken_ > self->told_) self->Tell();
  });
}

}  // namespace caisson::mcp
