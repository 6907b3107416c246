// The audit trail: whether an owner's log is whole, and a copy of everybody's as lines of JSON.
//
//   {"owner":"…","seq":1,"at_us":1700000000000000,"kind":"approval.approved","body":{…},"hash":"…"}
//
// Entries are written by the store, in the transaction of what they tell; the file is a copy that catches up, with what
// other processes did too, and can be verified by itself.
//
// Trust     As AuditLog. Files are hostile until they are verified.
// Threads   Pure functions and coroutines on any executor. An AuditFile is used by one at a time, and CatchUp writes to
//           the disk where it runs: give it an executor that may wait.
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

// Reads the whole chain. kFailedPrecondition, saying where, if an entry is changed, missing or too many.
asio::awaitable<Result<AuditHead>> VerifyAudit(AuditLog& log, IsolationKey owner);

// The same for the lines of a file: where each owner's chain ends.
Result<std::map<std::string, AuditHead>> VerifyAuditLines(std::string_view text);

// One line, without its end.
Result<std::string> ToAuditLine(const std::string& owner, const AuditEntry& entry);

class AuditFile {
 public:
  // A line that was cut short when its writer died is cut off. kFailedPrecondition: the file does not verify.
  // kUnavailable: another process writes to it.
  static Result<AuditFile> Open(const std::string& path);

  // Appends what is new, durably. Says how many entries that were.
  asio::awaitable<Result<std::size_t>> CatchUp(Store& store);

 private:
  AuditFile(UniqueFd file, std::map<std::string, AuditHead> written)
      : file_(std::move(file)), written_(std::move(written)) {}
  asio::awaitable<Result<std::size_t>> CatchUp(AuditLog& log, const OwnedAuditHead& until);
  Result<void> Write(std::string_view lines);  // All of them, or none.

  UniqueFd file_;
  std::map<std::string, AuditHead> written_;  // Per owner.
};

}  // namespace caisson
