// An Agent answers people with a language model, code and tools. Agents come from the configuration
// (server/configured_agents.h) or from a C++ program.
//
// Trust     The operator's. What a ContextProvider adds is data for the model.
// Threads   Never changes once it is given to a TurnService. Providers are called on the executor
//           of a turn.
// Lifetime  The model and the providers are shared by the agents that use them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "agent/turn.h"
#include "base/result.h"
#include "identity/identity.h"
#include "model/model.h"
#include "runs/setting_source.h"

namespace caisson {

// What a provider adds to one request to the model. It is not stored.
struct AddedContext {
  std::string instructions{};
  std::vector<model::Item> items{};  // Before the conversation.
};

class ContextProvider {
 public:
  virtual ~ContextProvider() = default;

  // Called once per turn, before the first request to the model. A failure ends the turn.
  virtual asio::awaitable<Result<AddedContext>> Provide(const IsolationKey& owner,
                                                        const TurnSpec& turn) = 0;
};

struct Agent {
  // kOn: the model has one tool, execute_code, and the tools of `setting` are functions in its
  // code. kOff: the model calls the tools of `setting` itself.
  enum class Code { kOff, kOn };

  std::string name;
  std::string description{};
  std::shared_ptr<model::Model> model;
  std::string instructions{};
  Code code = Code::kOn;
  // Tools, policy, mounts and limits of every run of this agent. The service of the runs knows it
  // by the name "agent:" + name, so that a run that waits can continue on another replica.
  SettingSource setting;
  TurnLimits limits{};
  std::vector<std::shared_ptr<ContextProvider>> providers{};
};

}  // namespace caisson
