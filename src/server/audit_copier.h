// An AuditCopier keeps the file of [audit] file = "…" up to date with the store, as long as it is there.
//
// Of several processes with one file the first copies, what the others do too; when it ends, another takes over.
//
// Trust     As AuditFile.
// Threads   Has one of its own, which may wait for the disk; `log` is called on it.
// Lifetime  The store outlives it. The destructor copies what is new once more and returns.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "approval/audit_trail.h"
#include "base/result.h"
#include "server/periodic.h"
#include "store/store.h"

namespace caisson {

struct AuditCopierOptions {
  std::string path;
  std::chrono::nanoseconds interval = std::chrono::seconds(1);
  std::function<void(std::string_view problem)>
      log{};  // Of what could not be copied; it is tried again.
};

class AuditCopier {
 public:
  // As AuditFile::Open, but that another process writes is no error.
  static Result<std::unique_ptr<AuditCopier>> Start(Store& store, AuditCopierOptions options);
  AuditCopier(const AuditCopier&) = delete;
  AuditCopier& operator=(const AuditCopier&) = delete;
  ~AuditCopier();

 private:
  AuditCopier(Store& store, std::optional<AuditFile> file, AuditCopierOptions options);
  asio::awaitable<void> CopyOnce();

  Store& store_;
  std::optional<AuditFile> file_;  // Nothing as long as it is another's.
  const AuditCopierOptions options_;
  std::optional<Periodic> copying_;
};

}  // namespace caisson
