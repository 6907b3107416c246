#include "model/stream_reader.h"

#include <utility>

#include "model/server_json.h"

namespace caisson::model {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::string_view kEnd = "[DONE]";

std::string_view Trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == text.npos) return {};
  return text.substr(start, text.find_last_not_of(kBlank) - start + 1);
}

}  // namespace

Result<Progress> StreamReader::Put(std::string_view bytes) {
  if (failure_) return *failure_;
  if (is_done_) return Progress::kDone;
  const std::size_t most = max_bytes_ * kStreamFactor;
  if (bytes.size() > most - taken_bytes_) return Fail("answer", most);
  taken_bytes_ += bytes.size();
  if (form_ == Form::kUnknown) {
    // No line of an event stream begins with a brace.
    const std::size_t start = bytes.find_first_not_of(kBlank);
    if (start == bytes.npos) return Progress::kMore;
    bytes.remove_prefix(start);
    form_ = bytes.front() == '{' ? Form::kWhole : Form::kEvents;
  }
  if (form_ == Form::kWhole) {
    if (bytes.size() > max_bytes_ - whole_.size()) return Fail("answer", max_bytes_);
    whole_.append(bytes);
    return Progress::kMore;
  }
  events_.Put(bytes);
  if (events_.unfinished_bytes() > max_bytes_) return Fail("event", max_bytes_);
  return TakeEvents();
}

Error StreamReader::Fail(std::string_view what, std::size_t most) {
  failure_ =
      Error(ErrorCode::kResourceExhausted, "the model server sent an " + std::string(what) +
                                               " of more than " + std::to_string(most) + " bytes");
  return *failure_;
}

Result<Progress> StreamReader::TakeEvents() {
  while (auto data = events_.Next()) {
    const std::string_view text = Trimmed(*data);
    if (text.empty()) continue;
    auto progress = TakeEvent(text);
    if (!progress) failure_ = progress.error();
    if (!progress) return progress;
    is_done_ = *progress == Progress::kDone;
    if (is_done_) return progress;
  }
  return Progress::kMore;
}

Result<Progress> StreamReader::TakeEvent(std::string_view text) {
  if (text == kEnd) return Progress::kDone;
  auto event = ReadServerObject(text);
  if (event) return reader_->TakeEvent(*event);
  // A cut connection leaves a part of an event. ReplyReader::End decides whether the
  // reply is complete.
  if (has_ended_) return Progress::kDone;
  return std::move(event).error();
}

Result<void> StreamReader::TakeRest() {
  if (form_ == Form::kWhole) {
    TRY_ASSIGN(const Dict answer, ReadServerObject(whole_));
    return reader_->TakeWhole(answer);
  }
  if (is_done_) return {};
  has_ended_ = true;
  events_.End();
  TRY(TakeEvents());
  return {};
}

Result<ModelReply> StreamReader::End() {
  if (failure_) return *failure_;
  TRY(TakeRest());
  return reader_->End();
}

}  // namespace caisson::model
