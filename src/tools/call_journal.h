// A CallJournal stands between a run's calls and what is done about them: it sees each call before anything happens
// and each answer before the code does, and so can write both down (I6), ask somebody first, or answer from what was
// written down before.
//
// Trust     Calls were written by an attacker; names and arguments are checked where `refused` is empty.
// Threads   Called on the executor of the run's cell, for many calls at once.
// Lifetime  Shared with the calls under way.
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
  std::shared_ptr<const Tool> tool{};  // Null if there is none of that name.
  // By name, and as text: a call can wait for days. Shared with the journal. Empty if they have no canonical text; the call
  // is refused then.
  std::shared_ptr<const CanonicalArguments> arguments = std::make_shared<CanonicalArguments>();
  bool needs_approval = false;
  std::optional<ToolRaised> refused{};  // Nothing will be done for it; the code is told this.
  std::string trace{};                  // As ToolCall::trace: recorded along with the call.
};

// A call that was journaled before, when its run goes on elsewhere.
struct RecordedCall {
  std::uint32_t seq = 0;
  std::string tool{};
  std::shared_ptr<const CanonicalArguments> arguments{};
};

class CallJournal {
 public:
  // May be done: Start() comes right before the effect.
  struct GoAhead {
    Consent consent = Consent::kNone;
    std::string idempotency_key{};
  };
  // Is not done; the code is told this, after After().
  struct Instead {
    ToolAnswer answer;
  };
  // Was answered before: the code is told so at once, and that it is `at`.
  struct Recorded {
    ToolAnswer answer;
    SystemTime at{};
  };
  // Neither done nor answered: the run goes on elsewhere, later, or not at all.
  struct Left {};
  using Ruling = std::variant<GoAhead, Instead, Recorded, Left>;

  virtual ~CallJournal() = default;

  // A call has been made. Before() follows for it, after other calls perhaps, unless the run ends.
  virtual void Expect(std::uint32_t seq) = 0;
  virtual asio::awaitable<Ruling> Before(JournaledCall call) = 0;
  // Records that the effect of a call that may go ahead begins now. The record is durable on return. False: the effect
  // must not begin here.
  virtual asio::awaitable<bool> Start(std::uint32_t seq) = 0;
  // The time the code is told along with the answer. Nothing: the answer could not be written down and must not be
  // given. Called for one answer at a time, in the order they are given in.
  virtual asio::awaitable<std::optional<SystemTime>> After(std::uint32_t seq,
                                                           const ToolAnswer& answer) = 0;
};

}  // namespace caisson
