#include "protocol/mcp/http_sessions.h"

#include <utility>

#include "base/aead.h"
#include "base/base64.h"

namespace caisson::mcp {
namespace {

constexpr std::chrono::hours kIdleTime{1};

std::string NewSessionId() {
  const AeadKey chance = AeadKey::Random();  // As hard to guess as a key.
  const auto bytes = chance.bytes().first<16>();
  return EncodeBase64Url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

const IsolationKey& OwnerOf(const HttpSession& session) {
  return session.connection->principal.owner;
}

}  // namespace

void HttpSessions::Table::Add(const std::string& id, std::shared_ptr<HttpSession> session,
                              Time now) {
  const IsolationKey& owner = OwnerOf(*session);
  Ids& ids = owners_[owner];
  const auto place = ids.insert(ids.end(), id);
  Recount(owner, ids.size() - 1, ids.size());
  entries_.emplace(id, Entry{.session = std::move(session), .used = now, .place = place});
}

HttpSessions::Entry* HttpSessions::Table::Find(const IsolationKey& owner, const std::string& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || OwnerOf(*found->second.session) != owner) return nullptr;
  return &found->second;
}

void HttpSessions::Table::Use(Entry& entry, Time now) {
  entry.used = now;
  Ids& ids = owners_.at(OwnerOf(*entry.session));
  ids.splice(ids.end(), ids, entry.place);
}

void HttpSessions::Table::Remove(const std::string& id) {
  const auto found = entries_.find(id);
  const std::shared_ptr<HttpSession> session = std::move(found->second.session);
  const IsolationKey& owner = OwnerOf(*session);
  Ids& ids = owners_.at(owner);
  Recount(owner, ids.size(), ids.size() - 1);
  ids.erase(found->second.place);
  entries_.erase(found);
  if (ids.empty()) owners_.erase(owner);
}

void HttpSessions::Table::RemoveOldest(const IsolationKey& owner) {
  Remove(std::string(owners_.at(owner).front()));
}

std::size_t HttpSessions::Table::CountOf(const IsolationKey& owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? 0 : found->second.size();
}

void HttpSessions::Table::Recount(const IsolationKey& owner, std::size_t before,
                                  std::size_t after) {
  if (before > 0) counts_.erase({before, owner});
  if (after > 0) counts_.emplace(after, owner);
}

HttpSessions::Begun HttpSessions::Begin(const Principal& principal) {
  Begun begun{.id = NewSessionId(), .session = std::make_shared<HttpSession>(principal, io_)};
  const Time now = std::chrono::steady_clock::now();
  auto table = table_.Lock();
  if (table->CountOf(principal.owner) >= limits_.of_one_owner) {
    table->RemoveOldest(principal.owner);
  } else if (table->size() >= limits_.sessions) {
    table->RemoveOldest(IsolationKey(table->owner_of_most()));
  }
  table->Add(begun.id, begun.session, now);
  return begun;
}

std::shared_ptr<HttpSession> HttpSessions::Find(const IsolationKey& owner, const std::string& id) {
  const Time now = std::chrono::steady_clock::now();
  auto table = table_.Lock();
  Entry* const entry = table->Find(owner, id);
  if (entry == nullptr) return nullptr;
  if (now - entry->used > kIdleTime) {
    table->Remove(id);
    return nullptr;
  }
  table->Use(*entry, now);
  return entry->session;
}

bool HttpSessions::End(const IsolationKey& owner, const std::string& id) {
  auto table = table_.Lock();
  if (table->Find(owner, id) == nullptr) return false;
  table->Remove(id);
  return true;
}

}  // namespace caisson::mcp
