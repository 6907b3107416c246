// A SessionContext holds the session variables one task acts under. There is no "current" one: whoever
// acts for a session is given its context as a parameter (I2).
//
//   SessionContext context(host);                              // a handler starts with nothing
//   context.Bind({.values = {{SessionVariable::kChatId, "7"}}});
//   SessionContext child = context.Fork();                     // taking over is said aloud
//
// Each variable is unset (never said here), empty (said to be nothing) or a value:
//
//                    Get, host's      Get, host's    child,              child,
//   after            start has E      has none       never engaged       engaged
//   nothing, Reset   E, or if         fallback       E                   not there
//                    engaged fallback
//   Bind, Set        the value        the value      the value           the value
//   Bind without it  empty            empty          there, empty        there, empty
//   Clear            empty            empty          there, empty        there, empty
//
// Engaged means: some session of this host has been bound. Until then the program serves one user who
// started it inside a session of theirs, perhaps, and its start environment speaks for them; from then on
// that environment is some other session's as likely as this one's, and is not asked any more.
//
// Trust     Values are data of strangers; nothing here interprets them.
// Threads   A context belongs to one task at a time; a SessionHost may be shared. Nothing writes the
//           process's environment, so reading the copy taken at the start is safe anywhere.
// Lifetime  Contexts end before their SessionHost, SessionScopes before their context.
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

#include "context/session_variable.h"

namespace caisson {

using EnvironmentMap = std::map<std::string, std::string, std::less<>>;

// The process's environment as it is now. Called once, by main, before there are threads.
EnvironmentMap CaptureEnvironment();

// What the sessions of one program share.
class SessionHost {
 public:
  explicit SessionHost(EnvironmentMap start) : start_(std::move(start)) {}

  const EnvironmentMap& start_environment() const { return start_; }
  bool engaged() const { return engaged_.load(std::memory_order_acquire); }

 private:
  friend class SessionContext;
  void Engage() { engaged_.store(true, std::memory_order_release); }

  const EnvironmentMap start_;
  std::atomic<bool> engaged_ = false;  // Never goes back.
};

// Whether something that finishes later can still reach the person.
enum class AsyncDelivery { kSupported, kUnsupported };

struct SessionBinding {
  std::vector<std::pair<SessionVariable, std::string>> values;
  AsyncDelivery async_delivery = AsyncDelivery::kSupported;
};

// What is said in a context, as a value: for what outlives the process.
struct SessionRecord {
  std::vector<std::pair<SessionVariable, std::string>> values{};  // Those that are not unset.
  std::optional<AsyncDelivery> async_delivery{};
  bool operator==(const SessionRecord&) const = default;
};

class SessionContext {
 public:
  // Everything unset.
  explicit SessionContext(SessionHost& host) : host_(&host) {}
  // Takes over, aloud, the session that this program was started in: for the one user who started it.
  static SessionContext OfStart(SessionHost& host);
  // What was recorded, perhaps by another process: what this one was started with has no say in it. Engages the host.
  static SessionContext FromRecord(SessionHost& host, const SessionRecord& record);
  SessionContext(SessionContext&&) = default;
  SessionContext& operator=(SessionContext&&) = default;

  // Says who this session is: what `binding` does not mention of a session is empty from now on, kCron is
  // unset; delivery and job variables stay as they are. Engages the host.
  void Bind(const SessionBinding& binding);
  // The session is over: all of it is empty, so that nothing older shines through.
  void Clear();
  // Back to the start: everything unset. EMPTY would tell children that there is a session with no name.
  void Reset();
  // One variable alone. Engages nothing: a program may know its own id and still serve one user.
  void Set(SessionVariable variable, std::string value);
  // There is no later for this caller: a one-shot command, a stateless request. Engages nothing.
  void DeclareStateless();

  // As in the table above.
  std::string Get(SessionVariable variable, std::string_view fallback = "") const;
  // What is said here, and nothing else.
  const std::optional<std::string>& slot(SessionVariable variable) const {
    return slots_.values[static_cast<std::size_t>(variable)];
  }
  bool supports_async_delivery() const {
    return slots_.async_delivery.value_or(AsyncDelivery::kSupported) == AsyncDelivery::kSupported;
  }
  // Unset is not the same as supported: it says that nobody has decided.
  std::optional<AsyncDelivery> async_delivery() const { return slots_.async_delivery; }

  // A context of its own that starts with all of this one's. Later changes of either are its own.
  SessionContext Fork() const;
  // The same without who came how and when: for what serves a person longer than one request.
  SessionContext WithoutRequest() const;
  SessionRecord Record() const;

  const SessionHost& host() const { return *host_; }

 private:
  friend class SessionScope;
  struct Slots {
    std::array<std::optional<std::string>, kSessionVariables> values;
    std::optional<AsyncDelivery> async_delivery;
  };

  SessionHost* host_;
  Slots slots_;
};

// Puts a context back to exactly what it was, at the end of a block. Scopes nest.
class SessionScope {
 public:
  explicit SessionScope(SessionContext& context) : context_(context), saved_(context.slots_) {}
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;
  ~SessionScope() { context_.slots_ = std::move(saved_); }

 private:
  SessionContext& context_;
  SessionContext::Slots saved_;
};

}  // namespace caisson
