// An AuditCopier copies new audit entries of the store to the file of `[audit] file = "…"`.
//
// If several processes name the same file, the first one copies the entries of all of them. When it
// ends, another process takes over.
//
// Trust     Same as AuditFile.
// Threads   Works on a thread of its own, which may wait for the disk. `log` is called on that
//           thread.
// Lifetime  The store outlives it. The destructor copies the newest entries, then returns.
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
  // Called when entries could not be copied. The copier tries again.
  std::function<void(std::string_view problem)> log{};
};

class AuditCopier {
 public:
  // Same as AuditFile::Open, but succeeds if another process writes to the file.
  static Result<std::unique_ptr<AuditCopier>> Start(Store& store, AuditCopierOptions options);
  AuditCopier(const AuditCopier&) = delete;
  AuditCopier& operator=(const AuditCopier&) = delete;
  ~AuditCopier();

 private:
  AuditCopier(Store& store, std::optional<AuditFile> file, AuditCopierOptions options);
  asio::awaitable<void> CopyOnce();

  Store& store_;
  std::optional<AuditFile> file_;  // nullopt: another process writes to the file.
  const AuditCopierOptions options_;
  std::optional<Periodic> copying_;
};

}  // namespace caisson
