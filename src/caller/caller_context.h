// A CallerContext holds the session variables of one task. There is no "current" context: it is
// passed as a parameter (I2).
//
//   CallerContext context(host);                            // A handler starts with an empty one.
//   context.Bind({.values = {{CallerVariable::kChatId, "7"}}});
//   CallerContext child = context.Fork();                   // Inheriting is explicit.
//
// Each variable is unset (never set here), empty (set to nothing) or a value:
//
//                    Get, host's      Get, host's    child,              child,
//   after            start has E      has none       never engaged       engaged
//   nothing, Reset   E, or if         fallback       E                   not there
//                    engaged fallback
//   Bind, Set        the value        the value      the value           the value
//   Bind without it  empty            empty          there, empty        there, empty
//   Clear            empty            empty          there, empty        there, empty
//
// A host is engaged after any of its sessions has been bound. Before that, the program serves the
// one user who started it, possibly inside a session, so its start environment describes that user.
// Afterwards the start environment may belong to another session and is no longer used.
//
// Trust     Values are data from strangers; nothing here interprets them.
// Threads   A context belongs to one task at a time. A CallerHost may be shared. Nothing writes
//           the process's environment, so the copy taken at the start can be read from any thread.
// Lifetime  Contexts end before their CallerHost, CallerScopes before their context.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "caller/caller_variable.h"

namespace caisson {

using EnvironmentMap = std::map<std::string, std::string, std::less<>>;

// Returns the process's current environment. Called once, by main, before there are threads.
EnvironmentMap CaptureEnvironment();

// The state that all sessions of one program share.
class CallerHost {
 public:
  explicit CallerHost(EnvironmentMap start) : start_(std::move(start)) {}

  const EnvironmentMap& start_environment() const { return start_; }
  bool engaged() const { return engaged_.load(std::memory_order_acquire); }

 private:
  friend class CallerContext;
  void Engage() { engaged_.store(true, std::memory_order_release); }

  const EnvironmentMap start_;
  std::atomic<bool> engaged_ = false;  // Never becomes false again.
};

// Can a result that arrives later still reach the person?
enum class AsyncDelivery { kSupported, kUnsupported };

struct CallerBinding {
  std::vector<std::pair<CallerVariable, std::string>> values;
  AsyncDelivery async_delivery = AsyncDelivery::kSupported;
};

// The contents of a context as a value that can be stored.
struct CallerRecord {
  // Only variables that are not unset.
  std::vector<std::pair<CallerVariable, std::string>> values{};
  std::optional<AsyncDelivery> async_delivery{};
  bool operator==(const CallerRecord&) const = default;
};

class CallerContext {
 public:
  // Everything unset.
  explicit CallerContext(CallerHost& host) : host_(&host) {}
  // Returns the session in which this program was started, for the one user who started it.
  static CallerContext OfStart(CallerHost& host);
  // Restores a recorded context, possibly of another process. This process's start environment has
  // no influence. Engages the host.
  static CallerContext FromRecord(CallerHost& host, const CallerRecord& record);
  CallerContext(CallerContext&&) = default;
  CallerContext& operator=(CallerContext&&) = default;

  // Sets the session. Session variables that `binding` does not mention become empty; kCron becomes
  // unset; delivery and job variables stay unchanged. Engages the host.
  void Bind(const CallerBinding& binding);
  // Ends the session: all variables become empty, so that older values do not show through.
  void Clear();
  // Makes everything unset again. Empty values would tell children that there is a session without
  // a name.
  void Reset();
  // Sets one variable. Does not engage the host: a program may know its own id and still serve one
  // user.
  void Set(CallerVariable variable, std::string value);
  // Declares that no later delivery is possible: a one-shot command, a stateless request. Does not
  // engage the host.
  void DeclareStateless();

  // Returns the value according to the table above.
  std::string Get(CallerVariable variable, std::string_view fallback = "") const;
  // Returns only what was set in this context.
  const std::optional<std::string>& slot(CallerVariable variable) const {
    return slots_.values[static_cast<std::size_t>(variable)];
  }
  bool supports_async_delivery() const {
    return slots_.async_delivery.value_or(AsyncDelivery::kSupported) == AsyncDelivery::kSupported;
  }
  // nullopt is different from kSupported: nothing was decided.
  std::optional<AsyncDelivery> async_delivery() const { return slots_.async_delivery; }

  // Returns an independent copy. Later changes do not affect the other.
  CallerContext Fork() const;
  // Returns a copy without the variables of a single request, for services that outlive the
  // request.
  CallerContext WithoutRequest() const;
  CallerRecord Record() const;

  const CallerHost& host() const { return *host_; }

 private:
  friend class CallerScope;
  struct Slots {
    std::array<std::optional<std::string>, kCallerVariables> values;
    std::optional<AsyncDelivery> async_delivery;
  };

  CallerHost* host_;
  Slots slots_;
};

// Restores a context to its previous contents at the end of a block. Scopes nest.
class CallerScope {
 public:
  explicit CallerScope(CallerContext& context) : context_(context), saved_(context.slots_) {}
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;
  ~CallerScope() { context_.slots_ = std::move(saved_); }

 private:
  CallerContext& context_;
  CallerContext::Slots saved_;
};

}  // namespace caisson
