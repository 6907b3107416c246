#include "server/audit_copier.h"

#include <utility>

#include "base/run_here.h"

namespace caisson {

Result<std::unique_ptr<AuditCopier>> AuditCopier::Start(Store& store, AuditCopierOptions options) {
  auto opened = AuditFile::Open(options.path);
  if (!opened && opened.error().code() != ErrorCode::kUnavailable) return std::move(opened).error();
  std::optional<AuditFile> file;
  if (opened) file = *std::move(opened);
  return std::unique_ptr<AuditCopier>(new AuditCopier(store, std::move(file), std::move(options)));
}

AuditCopier::AuditCopier(Store& store, std::optional<AuditFile> file, AuditCopierOptions options)
    : store_(store), file_(std::move(file)), options_(std::move(options)) {
  copying_.emplace(options_.interval, [this] { return CopyOnce(); });
}

AuditCopier::~AuditCopier() {
  copying_.reset();
  RunHere(CopyOnce());
}

asio::awaitable<void> AuditCopier::CopyOnce() {
  const auto complain = [&](const Error& error) {
    if (error.code() != ErrorCode::kUnavailable && options_.log) options_.log(error.message());
  };
  if (!file_) {
    auto opened = AuditFile::Open(options_.path);
    if (!opened) co_return complain(opened.error());
    file_ = *std::move(opened);
  }
  const auto copied = co_await file_->CatchUp(store_);
  if (!copied) complain(copied.error());
}

}  // namespace caisson
