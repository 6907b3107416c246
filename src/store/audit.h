// The audit log: the decisions and the effects that followed from them, one chain per owner.
//
// Each entry's hash covers the previous one, so a changed, missing or inserted entry breaks the
// chain from there on. If an attacker cuts off the end and changes the head, only somebody who has
// recorded a later hash notices.
//
// Trust     An attacker who can write to the store's file can write a new chain. The hashes reveal
//           changes but are not a signature.
// Threads   Same as RunStore.
// Lifetime  Same as RunStore.
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
  std::int64_t seq = 0;  // Starts at 1, without gaps.
  AuditEvent event{};
  std::string hash{};
};

// The end of an owner's chain.
struct AuditHead {
  std::int64_t seq = 0;  // 0: no entries.
  std::string hash{};
  bool operator==(const AuditHead&) const = default;
};

class AuditLog {
 public:
  virtual ~AuditLog() = default;
  virtual asio::awaitable<Result<void>> Append(IsolationKey owner, AuditEvent event) = 0;
  // Returns the entries after `after`, oldest first.
  virtual asio::awaitable<Result<std::vector<AuditEntry>>> Read(IsolationKey owner,
                                                                std::int64_t after,
                                                                std::uint32_t limit) = 0;
  // Stored separately from the entries, so that a missing last entry is noticed.
  virtual asio::awaitable<Result<AuditHead>> Head(IsolationKey owner) = 0;
};

// Returns the hash of an entry that follows one with hash `previous` (empty for the first).
std::string ChainHash(const std::string& previous, std::int64_t seq, const AuditEvent& event);

// Fails with kFailedPrecondition at the first entry that does not follow from the previous ones.
// `previous` and `seq` are those of the entry before the first.
Result<void> VerifyChain(std::span<const AuditEntry> entries, std::string previous = "",
                         std::int64_t seq = 0);

}  // namespace caisson
