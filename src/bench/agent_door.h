// Measures agents as clients of the Responses API see them: POST /v1/responses over one persistent
// connection, to an agent with the demo model. No tool of the agent may ask for an approval. Turns
// and runs are stored in SQLite.
//
// Trust     Every answer is checked.
// Threads   Blocks. The client is one thread.
// Lifetime  The server ends with the AgentDoor.
#pragma once

#include <utility>

#include "base/result.h"
#include "bench/http_server_process.h"
#include "bench/samples.h"

namespace caisson::bench {

class AgentDoor {
 public:
  static Result<AgentDoor> Open(const ServerPlan& plan);

  // Microseconds from the first byte of a request to the first response.output_text.delta of its
  // stream.
  Result<Samples> FirstDeltas(int turns) const;
  // Microseconds from the first byte of a request to the last byte of its answer. The turn executes
  // one piece of code.
  Result<Samples> CodeTurns(int turns) const;

 private:
  explicit AgentDoor(HttpServerProcess server) : server_(std::move(server)) {}

  HttpServerProcess server_;
};

}  // namespace caisson::bench
