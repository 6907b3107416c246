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
  // The encoding of a list is injective: no part can be read as another.
  std::string bytes;
  const List parts{{Value(previous), Value(seq), Value(Microseconds(event.at)), Value(event.kind),
                    Value(event.body)}};
  // Fails only for deep nesting, which does not occur here.
  if (!EncodeValue(Value(parts), bytes)) return {};
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
