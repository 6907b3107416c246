#include "store/audit.h"

#include <chrono>

#include "base/sha256.h"
#include "wire/value.h"

namespace caisson {
namespace {

std::int64_t Microseconds(SystemTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::string ChainHash(const std::string& previous, std::int64_t seq, const AuditEvent& event) {
  // A list of values is injective: no part can pretend to be its neighbour.
  std::string bytes;
  const List parts{{Value(previous), Value(seq), Value(Microseconds(event.at)), Value(event.kind),
                    Value(event.body)}};
  if (!EncodeValue(Value(parts), bytes)) return {};  // Only for nesting, of which there is none.
  return ToHex(Sha256(bytes));
}

Result<void> VerifyChain(std::span<const AuditEntry> entries, std::string previous,
                         std::int64_t seq) {
  for (const AuditEntry& entry : entries) {
    ++seq;
    if (entry.seq != seq || entry.hash != ChainHash(previous, seq, entry.event)) {
      return Error(ErrorCode::kFailedPrecondition,
                   "the audit log is broken at entry " + std::to_string(seq));
    }
    previous = entry.hash;
  }
  return {};
}

}  // namespace caisson
