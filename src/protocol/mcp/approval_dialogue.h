// An ApprovalDialogue asks the person at the client about the calls a run waits for, in the way of each era: legacy
// clients are sent a question while they wait, modern ones get the question as the answer and come back.
//
// Trust     What is shown is what was hashed (I5), with nothing hidden in it. A client's answer is believed: it acts for
//           the owner whose run it is. Only a clear yes is one.
// Threads   The exchange's executor.
// Lifetime  The service, the states and the clock outlive it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <set>
#include <string>
#include <vector>

#include "runs/run_service.h"
#include "protocol/mcp/exchange.h"
#include "protocol/mcp/features.h"
#include "protocol/mcp/request_state.h"

namespace caisson::mcp {

class ApprovalDialogue {
 public:
  ApprovalDialogue(RunService& runs, const RequestStates& states) : runs_(runs), states_(states) {}

  enum class Answered { kAll, kNotAll };

  // Legacy: asks about one call after the other and stores what is said.
  asio::awaitable<Answered> AskNow(const RunView& run, Exchange& exchange) const;

  // Modern: the result that asks.
  asio::awaitable<Result<Dict>> Question(const RunView& run, const StatePurpose& purpose,
                                         Exchange& exchange) const;
  struct Answers {
    RunId run;
    Answered answered = Answered::kNotAll;
    std::set<std::string> approvals{};  // That the client was asked about.
  };
  // Stores what the client was told. kInvalidArgument: the state is not for this call, or was used before.
  asio::awaitable<Result<Answers>> TakeAnswers(const std::string& request_state,
                                               const StatePurpose& purpose, const Dict& responses,
                                               const Exchange& exchange) const;

 private:
  asio::awaitable<Result<Dict>> Elicitation(const IsolationKey& owner, const std::string& approval,
                                            const Caller& caller) const;
  // Whether the response decides anything; if so, it is stored.
  asio::awaitable<Result<bool>> Decide(const IsolationKey& owner, const ApprovalId& id,
                                       const Value* response) const;

  RunService& runs_;
  const RequestStates& states_;
};

// For a client that cannot be asked: who else can, and how to go on then. Added to the result.
void AddOtherWays(const RunView& run, Dict& result);

}  // namespace caisson::mcp
