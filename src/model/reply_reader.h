// A ReplyReader turns the JSON objects that a server sends into a reply. Each API has its own.
//
// Trust     The objects are the server's: their shape is checked, unknown parts are ignored, and
//           the reply is bounded.
// Threads   One at a time.
// Lifetime  One reply.
#pragma once

#include "base/result.h"
#include "model/model.h"
#include "wire/value.h"

namespace caisson::model {

enum class Progress { kMore, kDone };  // kDone: nothing that follows matters.

class ReplyReader {
 public:
  virtual ~ReplyReader() = default;

  // Takes one event of a stream. Fails with the server's own error if the event reports one.
  virtual Result<Progress> TakeEvent(const Dict& event) = 0;
  // Takes the whole answer of a server that does not stream.
  virtual Result<void> TakeWhole(const Dict& answer) = 0;
  // Returns the reply. Fails with kUnavailable if the server has not finished it.
  virtual Result<ModelReply> End() = 0;
};

}  // namespace caisson::model
