#include "protocol/mcp/http_sessions.h"

#include <utility>

#include "base/aead.h"
#include "base/base64.h"

namespace caisson::mcp {
namespace {

constexpr std::size_t kMaxSessions = 10'000;
constexpr std::size_t kMaxSessionsOfOne = 1'000;
constexpr std::chrono::hours kIdleTime{1};

std::string NewSessionId() {
  const AeadKey chance = AeadKey::Random();  // As hard to guess as a key.
  const auto bytes = chance.bytes().first<16>();
  return EncodeBase64Url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::optional<HttpSessions::Begun> HttpSessions::Begin(const Principal& principal) {
  Begun begun{.id = NewSessionId(), .session = std::make_shared<HttpSession>(principal, io_)};
  const Time now = std::chrono::steady_clock::now();
  auto entries = entries_.Lock();
  if (!MakeRoom(*entries, principal.owner, now)) return std::nullopt;
  entries->emplace(begun.id, Entry{.session = begun.session, .used = now});
  return begun;
}

// An owner with too many sessions loses the least recently used one; a full server loses the idle
// ones.
bool HttpSessions::MakeRoom(Entries& entries, const IsolationKey& owner, Time now) {
  if (entries.size() >= kMaxSessions) {
    std::erase_if(entries, [&](const auto& entry) { return now - entry.second.used > kIdleTime; });
  }
  auto oldest = entries.end();
  std::size_t own = 0;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (entry->second.session->session->principal.owner != owner) continue;
    ++own;
    if (oldest == entries.end() || entry->second.used < oldest->second.used) oldest = entry;
  }
  if (own >= kMaxSessionsOfOne) entries.erase(oldest);
  return entries.size() < kMaxSessions;
}

std::shared_ptr<HttpSession> HttpSessions::Find(const IsolationKey& owner, const std::string& id) {
  const Time now = std::chrono::steady_clock::now();
  auto entries = entries_.Lock();
  const auto found = entries->find(id);
  if (found == entries->end() || found->second.session->session->principal.owner != owner)
    return nullptr;
  if (now - found->second.used > kIdleTime) {
    entries->erase(found);
    return nullptr;
  }
  found->second.used = now;
  return found->second.session;
}

bool HttpSessions::End(const IsolationKey& owner, const std::string& id) {
  auto entries = entries_.Lock();
  const auto found = entries->find(id);
  if (found == entries->end() || found->second.session->session->principal.owner != owner)
    return false;
  entries->erase(found);
  return true;
}

}  // namespace caisson::mcp
