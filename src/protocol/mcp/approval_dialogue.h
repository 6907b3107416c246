// An ApprovalDialogue asks the person at the client about the calls that a run waits for. Legacy
// clients are sent a question while they wait; modern ones get the question as the answer and
// repeat the request.
//
// Trust     The shown text is the one that was hashed (I5), with nothing hidden. The client's
//           answer is accepted, because the client acts for the owner of the run. Only an explicit
//           approval counts as one. Nobody is asked about arguments that are too long for a
//           question; AddOtherWays names the doors that show them.
// Threads   The exchange's executor.
// Lifetime  The service, the states and the clock outlive it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocol/mcp/features.h"
#include "protocol/mcp/mcp_exchange.h"
#include "protocol/mcp/request_state.h"
#include "runs/run_service.h"

namespace caisson::mcp {

class ApprovalDialogue {
 public:
  // Long arguments are read in `cpu_pool`; without it, on the executor of the exchange.
  ApprovalDialogue(RunService& runs, const RequestStates& states,
                   std::optional<asio::any_io_executor> cpu_pool = {})
      : runs_(runs), states_(states), cpu_pool_(std::move(cpu_pool)) {}

  enum class Answered { kAll, kNotAll };

  // Legacy: asks about one call after the other and stores the answers.
  asio::awaitable<Answered> AskNow(const RunView& run, Exchange& exchange) const;

  // Modern: returns the result that contains the questions.
  asio::awaitable<Result<Dict>> Question(const RunView& run, const StatePurpose& purpose,
                                         Exchange& exchange) const;
  struct Answers {
    RunId run;
    Answered answered = Answered::kNotAll;
    std::set<std::string> approvals{};  // The approvals that the client was asked about.
  };
  // Stores the client's answers. Fails with kInvalidArgument if the state is not for this call, or
  // was used before.
  asio::awaitable<Result<Answers>> TakeAnswers(const std::string& request_state,
                                               const StatePurpose& purpose, const Dict& responses,
                                               const Exchange& exchange) const;

 private:
  asio::awaitable<Result<Dict>> Elicitation(const IsolationKey& owner, const std::string& approval,
                                            const Caller& caller) const;
  // Returns true if the response contains a decision, which is then stored.
  asio::awaitable<Result<bool>> Decide(const IsolationKey& owner, const ApprovalId& id,
                                       const Value* response) const;

  RunService& runs_;
  const RequestStates& states_;
  const std::optional<asio::any_io_executor> cpu_pool_;
};

// For a client that cannot be asked: adds to the result who else can decide, and how to continue
// then.
void AddOtherWays(const RunView& run, Dict& result);

}  // namespace caisson::mcp
