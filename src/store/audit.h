// The audit log: who decided what and what was done because of it, one chain per owner.
//
// Each entry's hash covers the one before it, so a changed, missing or inserted entry breaks the chain from there
// on. That somebody cut the end off, and changed the head with it, is seen by whoever has written down a later hash.
//
// Trust     Whoever can write to the store's file can write a new chain; the hashes show changes, they are no
//           signature.
// Threads   As RunStore.
// Lifetime  As RunStore.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "identity/identity.h"

namespace caisson {

namespace asio = boost::asio;

struct AuditEvent {
  SystemTime at{};
  std::string kind{};  // "approval.approved", "effect.started", ...
  std::string body{};  // One JSON object.
};

struct AuditEntry {
  std::int64_t seq = 0;  // From 1, without gaps.
  AuditEvent event{};
  std::string hash{};
};

// Where an owner's chain ends.
struct AuditHead {
  std::int64_t seq = 0;  // 0: there is no entry.
  std::string hash{};
  bool operator==(const AuditHead&) const = default;
};

class AuditLog {
 public:
  virtual ~AuditLog() = default;
  virtual asio::awaitable<Result<void>> Append(IsolationKey owner, AuditEvent event) = 0;
  // Oldest first, those after `after`.
  virtual asio::awaitable<Result<std::vector<AuditEntry>>> Read(IsolationKey owner,
                                                                std::int64_t after,
                                                                std::uint32_t limit) = 0;
  // Kept apart from the entries: one that is cut off is missed.
  virtual asio::awaitable<Result<AuditHead>> Head(IsolationKey owner) = 0;
};

// The hash of an entry that follows one with hash `previous` (empty for the first).
std::string ChainHash(const std::string& previous, std::int64_t seq, const AuditEvent& event);

// kFailedPrecondition at the first entry that does not follow from the ones before it; `previous` and `seq` are
// those of the entry before the first.
Result<void> VerifyChain(std::span<const AuditEntry> entries, std::string previous = "",
                         std::int64_t seq = 0);

}  // namespace caisson
