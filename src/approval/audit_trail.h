// The audit trail: verifies the log of an owner, and copies the logs of all owners as lines of
// JSON.
//
//   {"owner":"…","seq":1,"at_us":1700000000000000,"kind":"approval.approved","body":{…},"hash":"…"}
//
// The store writes each entry in the same transaction as the change that it records. The file is a
// copy that catches up, including entries of other processes, and can be verified by itself.
//
// Trust     Same as AuditLog. Files are hostile until they are verified.
// Threads   Pure functions and coroutines on any executor. An AuditFile is used by one at a time.
//           CatchUp writes to the disk on its own executor, which must be allowed to block.
// Lifetime  An AuditFile owns its file and a lock on it, so that only one process writes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "identity/identity.h"
#include "store/store.h"

namespace caisson {

// Reads the whole chain. Fails with kFailedPrecondition and the position if an entry was changed,
// removed or added.
asio::awaitable<Result<AuditHead>> VerifyAudit(AuditLog& log, IsolationKey owner);

// The same for the lines of a file. Returns the end of each owner's chain.
Result<std::map<std::string, AuditHead>> VerifyAuditLines(std::string_view text);

// Returns one line, without its end.
Result<std::string> ToAuditLine(const std::string& owner, const AuditEntry& entry);

class AuditFile {
 public:
  // Removes a last line that was cut when its writer died. Fails with kFailedPrecondition if the
  // file does not verify, kUnavailable if another process writes to it.
  static Result<AuditFile> Open(const std::string& path);

  // Appends new entries durably. Returns their number.
  asio::awaitable<Result<std::size_t>> CatchUp(Store& store);

 private:
  AuditFile(UniqueFd file, std::map<std::string, AuditHead> written)
      : file_(std::move(file)), written_(std::move(written)) {}
  asio::awaitable<Result<std::size_t>> CatchUp(AuditLog& log, const OwnedAuditHead& until);
  Result<void> Write(std::string_view lines);  // Writes all of them, or none.

  UniqueFd file_;
  std::map<std::string, AuditHead> written_;  // Per owner.
};

}  // namespace caisson
