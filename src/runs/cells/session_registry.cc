#include "runs/cells/session_registry.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "base/aead.h"
#include "base/base64.h"
#include "base/run_on.h"
#include "base/spawn.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxName = 64;
// Lost sessions that are remembered, of each owner.
constexpr std::size_t kMaxLost = 100;
constexpr int kSweepsPerIdleTime = 16;

Result<void> CheckName(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  if (!name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, is_allowed)) return {};
  return Error(ErrorCode::kInvalidArgument,
               "a session's name has 1 to 64 letters, digits, \"_\", \".\" or \"-\"");
}

SessionId NewSessionId() {
  const AeadKey random = AeadKey::Random();  // As unguessable as a key.
  const auto bytes = random.bytes().first<16>();
  return SessionId(EncodeBase64Url({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

Error Closed() {
  return Error(ErrorCode::kUnavailable, "shutting down: sessions are not accepted");
}

}  // namespace

struct SessionRegistry::Waiter {
  std::shared_ptr<Wakeup> wakeup = std::make_shared<Wakeup>();
  std::shared_ptr<Session> granted;  // Written under the lock: it is this waiter's turn.
};

struct SessionRegistry::Session {
  Session(SessionKey session_key, ShutdownGate::Pass gate_pass)
      : pass(std::move(gate_pass)), key(std::move(session_key)) {}

  const ShutdownGate::Pass pass;  // Close() waits for it; so it goes last.
  const SessionKey key;
  const SessionId id = NewSessionId();
  std::unique_ptr<Cell> cell;  // Of whoever has the turn; of nobody while idle.
  bool busy = true;            // Somebody has the turn: it begins with whoever made it.
  Time last_used{};
  std::deque<std::shared_ptr<Waiter>> line;
};

SessionRegistry::Turn::~Turn() {
  if (session_ != nullptr) registry_->Leave(std::move(session_));
}

const SessionId& SessionRegistry::Turn::id() const {
  return session_->id;
}

Cell* SessionRegistry::Turn::cell() const {
  return session_->cell.get();
}

void SessionRegistry::Turn::Adopt(std::unique_ptr<Cell> cell) {
  session_->cell = std::move(cell);
}

void SessionRegistry::Turn::End(std::optional<std::string> why) {
  Afterwards afterwards;
  registry_->Remove(*registry_->state_.Lock(), session_, std::move(why), afterwards);
  session_ = nullptr;
  Finish(std::move(afterwards));
}

// Cells go where they lived. The last thing that goes with one is its pass, so nothing here may
// touch the registry: it can be gone by then.
void SessionRegistry::Finish(Afterwards afterwards) {
  for (const auto& wakeup : afterwards.woken) wakeup->Wake();
  for (std::shared_ptr<Session>& session : afterwards.gone) {
    if (session->cell == nullptr) continue;
    const asio::any_io_executor executor = session->cell->executor();
    asio::post(executor, [session = std::move(session)] { session->cell.reset(); });
  }
}

void SessionRegistry::Remove(State& state, const std::shared_ptr<Session>& session,
                             std::optional<std::string> why, Afterwards& afterwards) const {
  Owner& owner = state.owners.at(session->key.owner);
  const std::string& name = session->key.name;
  owner.sessions.erase(name);
  --state.sessions;
  if (why) owner.lost.push_back({name, *std::move(why), options_.now()});
  if (owner.lost.size() > kMaxLost) owner.lost.pop_front();
  // They try again, and learn what has become of it.
  for (const auto& waiter : std::exchange(session->line, {})) {
    afterwards.woken.push_back(waiter->wakeup);
  }
  afterwards.gone.push_back(session);
}

void SessionRegistry::Sweep(State& state, Afterwards& afterwards) const {
  const Time now = options_.now();
  state.next_sweep = now + options_.idle / kSweepsPerIdleTime;
  for (auto at = state.owners.begin(); at != state.owners.end();) {
    Owner& owner = at->second;
    for (auto next = owner.sessions.begin(); next != owner.sessions.end();) {
      const std::shared_ptr<Session> session = (next++)->second;
      if (session->busy || now - session->last_used < options_.idle) continue;
      Remove(state, session, "nobody used it for too long", afterwards);
    }
    std::erase_if(owner.lost,
                  [&](const Lost& lost) { return now - lost.since >= options_.remembered; });
    at = owner.sessions.empty() && owner.lost.empty() ? state.owners.erase(at) : std::next(at);
  }
}

Result<void> SessionRegistry::MakeRoom(State& state, const OwnerId& owner,
                                       Afterwards& afterwards) const {
  const std::size_t own = state.owners[owner].sessions.size();
  const bool owner_full = own >= options_.most_per_owner;
  if (!owner_full && state.sessions < options_.most) return {};
  std::shared_ptr<Session> least_used;
  std::size_t most = 0;  // Sessions of its owner, the new one included.
  for (const auto& [id, other] : state.owners) {
    const std::size_t count = other.sessions.size() + (id == owner ? 1 : 0);
    if ((owner_full && id != owner) || count < most) continue;
    for (const auto& [name, session] : other.sessions) {
      if (session->busy) continue;
      if (count == most && session->last_used >= least_used->last_used) continue;
      least_used = session;
      most = count;
    }
  }
  if (!least_used) {
    return Error(ErrorCode::kResourceExhausted,
                 "all " + std::to_string(owner_full ? own : state.sessions) +
                     " sessions there may be are in use; end one, or run without a session");
  }
  Remove(state, least_used, "another session needed its room", afterwards);
  return {};
}

Result<SessionRegistry::Turn> SessionRegistry::Begin(State& state, const SessionKey& key,
                                                     ShutdownGate::Pass pass,
                                                     Afterwards& afterwards) {
  TRY(MakeRoom(state, key.owner, afterwards));
  auto session = std::make_shared<Session>(key, std::move(pass));
  state.owners[key.owner].sessions.emplace(key.name, session);
  ++state.sessions;
  return Turn(*this, std::move(session));
}

Result<std::optional<SessionRegistry::Entered>> SessionRegistry::TryEnter(
    const SessionKey& key, Restart restart, const std::shared_ptr<Waiter>& waiter,
    ShutdownGate::Pass pass, Afterwards& afterwards) {
  using Answer = std::optional<Entered>;
  auto state = state_.Lock();
  if (state->closed) return Closed();
  if (options_.now() >= state->next_sweep) Sweep(*state, afterwards);
  Owner& owner = state->owners[key.owner];
  const auto lost = std::ranges::find(owner.lost, key.name, &Lost::name);
  if (lost != owner.lost.end()) {
    if (restart == Restart::kNo) return Answer(SessionLost{lost->why});
    owner.lost.erase(lost);
  }
  const auto found = owner.sessions.find(key.name);
  if (found == owner.sessions.end()) {
    TRY_ASSIGN(Turn turn, Begin(*state, key, std::move(pass), afterwards));
    return Answer(std::move(turn));
  }
  Session& session = *found->second;
  if (!std::exchange(session.busy, true)) return Answer(Turn(*this, found->second));
  if (session.line.size() >= options_.most_in_line) {
    return Error(ErrorCode::kResourceExhausted,
                 "too many runs wait for session \"" + key.name + "\"");
  }
  session.line.push_back(waiter);
  return Answer();
}

asio::awaitable<Result<SessionRegistry::Entered>> SessionRegistry::Enter(SessionKey key,
                                                                         Restart restart) {
  if (auto good = CheckName(key.name); !good) co_return std::move(good).error();
  const auto waiting_pass = gate_.Enter();  // Close() waits for those who wait, too.
  while (true) {
    auto pass = gate_.Enter();
    if (!waiting_pass || !pass) co_return Closed();
    auto waiter = std::make_shared<Waiter>();
    Afterwards afterwards;
    auto entered = TryEnter(key, restart, waiter, *std::move(pass), afterwards);
    Finish(std::move(afterwards));
    if (!entered) co_return std::move(entered).error();
    if (*entered) co_return **std::move(entered);
    if (co_await IsCancelled() || co_await waiter->wakeup->Sleep() == Wakeup::Reason::kCancelled) {
      StopWaiting(key, waiter);
      co_return Error(ErrorCode::kCancelled, "cancelled while waiting for the session");
    }
    std::shared_ptr<Session> granted;
    {
      const auto state = state_.Lock();
      granted = std::move(waiter->granted);
    }
    if (granted) co_return Turn(*this, std::move(granted));
  }
}

void SessionRegistry::StopWaiting(const SessionKey& key, const std::shared_ptr<Waiter>& waiter) {
  std::shared_ptr<Session> granted;
  {
    auto state = state_.Lock();
    granted = std::move(waiter->granted);
    const auto found = state->owners[key.owner].sessions.find(key.name);
    if (found != state->owners[key.owner].sessions.end()) std::erase(found->second->line, waiter);
  }
  if (granted) Leave(std::move(granted));  // It was our turn at the same moment.
}

void SessionRegistry::Leave(std::shared_ptr<Session> session) {
  Afterwards afterwards;
  {
    auto state = state_.Lock();
    session->last_used = options_.now();
    if (state->closed || session->cell == nullptr) {
      Remove(*state, session, std::nullopt, afterwards);
    } else if (session->line.empty()) {
      session->busy = false;
    } else {
      const std::shared_ptr<Waiter> next = std::move(session->line.front());
      session->line.pop_front();
      next->granted = session;
      afterwards.woken.push_back(next->wakeup);
    }
  }
  session = nullptr;
  Finish(std::move(afterwards));
}

asio::awaitable<Result<std::unique_ptr<Cell>>> SessionRegistry::Copy(const Turn& turn,
                                                                     OwnerId owner,
                                                                     ForkOptions options) {
  Cell* const cell = turn.cell();
  const auto save = [&]() -> asio::awaitable<Result<SavedCell>> {
    co_return co_await cell->Save(AfterSave::kKeep);
  };
  auto saved = co_await RunOn(cell->executor(), save());
  if (!saved) co_return std::move(saved).error();
  co_return co_await engine_.Restore(
      {.owner = std::move(owner), .host_files = std::move(options.host_files)}, *std::move(saved),
      options.limits);
}

bool SessionRegistry::Exists(const SessionKey& key) {
  auto state = state_.Lock();
  const auto owner = state->owners.find(key.owner);
  return owner != state->owners.end() && owner->second.sessions.contains(key.name);
}

// Does not wait: two forks that wait for each other's sessions would do so for ever.
Result<SessionRegistry::Turn> SessionRegistry::BeginNew(const SessionKey& key) {
  TRY(CheckName(key.name));
  auto pass = gate_.Enter();
  if (!pass) return Closed();
  Afterwards afterwards;
  auto begun = [&]() -> Result<Turn> {
    auto state = state_.Lock();
    Owner& owner = state->owners[key.owner];
    if (owner.sessions.contains(key.name)) {
      return Error(ErrorCode::kFailedPrecondition,
                   "there is a session \"" + key.name + "\" already");
    }
    std::erase_if(owner.lost, [&](const Lost& lost) { return lost.name == key.name; });
    return Begin(*state, key, *std::move(pass), afterwards);
  }();
  Finish(std::move(afterwards));
  return begun;
}

asio::awaitable<Result<void>> SessionRegistry::Fork(SessionKey from, std::string to,
                                                    ForkOptions options) {
  const Error missing(ErrorCode::kNotFound, "there is no session \"" + from.name + "\"");
  if (!Exists(from)) co_return missing;
  auto source = co_await Enter(from);
  if (!source) co_return std::move(source).error();
  const auto* source_turn = std::get_if<Turn>(&*source);
  if (source_turn == nullptr || source_turn->cell() == nullptr) co_return missing;
  auto target = BeginNew({from.owner, std::move(to)});
  if (!target) co_return std::move(target).error();
  auto copy = co_await Copy(*source_turn, from.owner, std::move(options));
  if (!copy) co_return std::move(copy).error().Context("fork session \"" + from.name + "\"");
  target->Adopt(*std::move(copy));
  co_return Result<void>();
}

asio::awaitable<Result<void>> SessionRegistry::End(SessionKey key) {
  if (!Exists(key)) {
    auto state = state_.Lock();
    std::erase_if(state->owners[key.owner].lost,
                  [&](const Lost& lost) { return lost.name == key.name; });
    co_return Result<void>();
  }
  auto entered = co_await Enter(std::move(key), Restart::kIfLost);
  if (!entered) co_return std::move(entered).error();
  std::get<Turn>(*entered).End(std::nullopt);
  co_return Result<void>();
}

void SessionRegistry::EndIdle() {
  Afterwards afterwards;
  Sweep(*state_.Lock(), afterwards);
  Finish(std::move(afterwards));
}

std::vector<std::string> SessionRegistry::Names(const OwnerId& owner) {
  std::vector<std::string> names;
  auto state = state_.Lock();
  const auto found = state->owners.find(owner);
  if (found == state->owners.end()) return names;
  for (const auto& [name, session] : found->second.sessions) names.push_back(name);
  return names;
}

asio::awaitable<void> SessionRegistry::Close() {
  gate_.Shut();
  Afterwards afterwards;
  {
    auto state = state_.Lock();
    state->closed = true;
    for (auto& [id, owner] : state->owners) {
      for (auto next = owner.sessions.begin(); next != owner.sessions.end();) {
        const std::shared_ptr<Session> session = (next++)->second;
        if (!session->busy) {
          Remove(*state, session, std::nullopt, afterwards);
          continue;
        }
        for (const auto& waiter : std::exchange(session->line, {})) {
          afterwards.woken.push_back(waiter->wakeup);
        }
      }
    }
  }
  Finish(std::move(afterwards));
  co_await gate_.Close();
}

}  // namespace caisson
