// A CallJournal sees each call of a run before anything happens and each answer before the code
// does. So it can record both (I6), ask for an approval first, or answer from an earlier record.
//
// Trust     Calls were written by an attacker; names and arguments are checked if `refused` is
//           empty.
// Threads   Called on the executor of the run's cell, for many calls at once.
// Lifetime  Shared with the current calls.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "engine/engine.h"
#include "tools/arguments.h"
#include "tools/tool.h"

namespace caisson {

struct JournaledCall {
  std::uint32_t seq = 0;
  std::string name{};
  std::shared_ptr<const Tool> tool{};  // Null if no tool has that name.
  // By name, and as text, because a call can wait for days. Shared with the journal. Empty if they
  // have no canonical text; the call is refused then.
  std::shared_ptr<const CanonicalArguments> arguments = std::make_shared<CanonicalArguments>();
  bool needs_approval = false;
  std::optional<ToolRaised> refused{};  // Nothing is done for it; the code gets this exception.
  std::string trace{};                  // Same as ToolCall::trace; recorded with the call.
};

// A call that was journaled before its run continued elsewhere.
struct RecordedCall {
  std::uint32_t seq = 0;
  std::string tool{};
  std::shared_ptr<const CanonicalArguments> arguments{};
};

class CallJournal {
 public:
  // The call may be executed. Start() is called right before the effect.
  struct GoAhead {
    Consent consent = Consent::kNone;
    std::string idempotency_key{};
    // Arguments that a person wrote in place of the call's own. Null: as asked.
    std::shared_ptr<const CanonicalArguments> edited{};
  };
  // The call is not executed. The code gets this answer, after After().
  struct Instead {
    ToolAnswer answer;
  };
  // The call was answered before. The code gets that answer at once, with the time `at`.
  struct Recorded {
    ToolAnswer answer;
    SystemTime at{};
  };
  // The call is neither executed nor answered: the run continues elsewhere, later, or not at all.
  struct Left {};
  using CallDecision = std::variant<GoAhead, Instead, Recorded, Left>;

  virtual ~CallJournal() = default;

  // A call has been made. Before() follows for it, possibly after other calls, unless the run ends.
  virtual void Expect(std::uint32_t seq) = 0;
  virtual asio::awaitable<CallDecision> Before(JournaledCall call) = 0;
  // Records that the effect of an allowed call begins now. The record is durable on return. Returns
  // false if the effect must not begin here.
  virtual asio::awaitable<bool> Start(std::uint32_t seq) = 0;
  // Returns the time that the code gets with the answer. nullopt: the answer could not be recorded
  // and must not be delivered. Called for one answer at a time, in the order of delivery.
  virtual asio::awaitable<std::optional<SystemTime>> After(std::uint32_t seq,
                                                           const ToolAnswer& answer) = 0;
};

}  // namespace caisson
