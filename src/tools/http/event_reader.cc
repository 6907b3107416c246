#include "tools/http/event_reader.h"

#include <utility>

namespace caisson {
namespace {

constexpr std::string_view kField = "data:";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

void EventReader::Put(std::string_view bytes) {
  for (const char c : bytes) {
    const bool second_half = std::exchange(after_return_, c == '\r') && c == '\n';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      EndLine();
    } else {
      line_.push_back(c);
    }
  }
}

void EventReader::EndLine() {
  std::string_view line = line_;
  if (std::exchange(is_first_line_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty() && data_) {
    events_.push_back(*std::exchange(data_, std::nullopt));
  } else if (line.starts_with(kField)) {
    line.remove_prefix(kField.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (data_) data_->push_back('\n');
    data_ = std::move(data_).value_or("").append(line);
  }
  line_.clear();
}

void EventReader::End() {
  EndLine();
  EndLine();
}

std::optional<std::string> EventReader::Next() {
  if (events_.empty()) return std::nullopt;
  std::string event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace caisson
