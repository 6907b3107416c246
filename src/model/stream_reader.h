// A StreamReader reads the body of an answer in pieces of any size: server-sent events, or one JSON
// object.
//
//   StreamReader body(MakeReplyReader(...), 8u << 20);
//   while (...) if (*body.Put(piece) == Progress::kDone) break;
//   Result<ModelReply> reply = body.End();
//
// Trust     The bytes are a server's. Their number is bounded.
// Threads   One at a time.
// Lifetime  One answer.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/reply_reader.h"
#include "tools/http/event_reader.h"

namespace caisson::model {

inline constexpr std::size_t kStreamFactor = 16;

class StreamReader {
 public:
  // `max_bytes`: of one event, or of the object. A whole stream may have kStreamFactor times that,
  // because each event repeats names around a few letters.
  StreamReader(std::unique_ptr<ReplyReader> reader, std::size_t max_bytes)
      : reader_(std::move(reader)), max_bytes_(max_bytes) {}

  Result<Progress> Put(std::string_view bytes);
  // The body has ended, or the connection. Fails with kUnavailable if the reply is not complete,
  // and with the error of Put if that has failed.
  Result<ModelReply> End();

 private:
  enum class Form { kUnknown, kEvents, kWhole };

  Result<Progress> TakeEvents();
  Result<Progress> TakeEvent(std::string_view text);
  Result<void> TakeRest();
  Error Fail(std::string_view what, std::size_t most);

  const std::unique_ptr<ReplyReader> reader_;
  const std::size_t max_bytes_;
  std::size_t taken_bytes_ = 0;
  Form form_ = Form::kUnknown;
  EventReader events_;
  std::string whole_;
  std::optional<Error> failure_;
  bool is_done_ = false;
  bool has_ended_ = false;
};

}  // namespace caisson::model
