// A DemoModel is a scripted model inside the program. Agents can be tried and tested without a
// server and without a key. The same request always gets the same reply.
//
// The newest message of the user selects the reply. A keyword counts if a word of the message
// begins with it, in any case. The first row that fits is used:
//
//   the message has      the demo
//   -------------------  --------------------------------------------------------------------------
//   ```code```           executes exactly this code
//   call NAME {JSON}     calls the tool NAME with these arguments (without them: with samples)
//   fail                 fails with kUnavailable
//   refuse               refuses
//   censor               is ended by the content filter after some words
//   endless              calls a tool in every reply, without end
//   malformed            calls a tool with arguments that are not JSON
//   missing              calls a tool that does not exist
//   raise                executes code that raises ValueError
//   step                 makes three calls, one after the other
//   parallel, both       makes two calls in one reply
//   email, mail, send    sends an email: from code if there is execute_code, else with a tool
//   slow [N]             writes for N seconds (2), ten words per second
//   long                 writes 300 lines
//   reason, think        shows its reasoning, then writes text
//   fib                  executes code that computes Fibonacci numbers
//   file, report         executes code that writes /output/report.csv
//   code, comput, calc   executes code that computes a sum
//   anything else        repeats the message
//
// "A tool" is execute_code if it is declared, otherwise the first declared tool, with arguments
// that fit its schema. Without tools, and with ToolChoice kNone, the demo says that it has none.
// After results, it writes a text that quotes them. With ToolChoice kRequired or kNamed, it calls a
// tool before its first text. A word counts as one token.
//
// Trust     The request is data. Nothing in it is executed here.
// Threads   Same as Model.
// Lifetime  Same as Model.
#pragma once

#include <chrono>

#include "model/model.h"

namespace caisson::model {

class DemoModel final : public Model {
 public:
  // `pause`: the time between two pieces of output.
  explicit DemoModel(std::chrono::milliseconds pause = {}) : pause_(pause) {}

  asio::awaitable<Result<ModelReply>> Generate(ModelRequest request, OnDelta on_delta) override;

 private:
  const std::chrono::milliseconds pause_;
};

}  // namespace caisson::model
