#include "approval/audit_trail.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "wire/json.h"

namespace caisson {
namespace {

constexpr std::uint32_t kEntriesAtOnce = 500;

std::int64_t Microseconds(SystemTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

struct AuditLine {
  std::string owner;
  AuditEntry entry;
};

std::optional<AuditLine> ParseLine(std::string_view line) {
  const auto value = ParseJson(line);
  const auto* dict = value ? value->If<Dict>() : nullptr;
  if (dict == nullptr || dict->items.size() != 6) return std::nullopt;
  const auto text = [&](std::string_view key) {
    const Value* found = dict->Find(key);
    return found == nullptr ? nullptr : found->If<std::string>();
  };
  const auto number = [&](std::string_view key) {
    const Value* found = dict->Find(key);
    return found == nullptr ? nullptr : found->If<std::int64_t>();
  };
  const std::string* owner = text("owner");
  const std::string* kind = text("kind");
  const std::string* hash = text("hash");
  const std::int64_t* seq = number("seq");
  const std::int64_t* at = number("at_us");
  const Value* body = dict->Find("body");
  if (owner == nullptr || kind == nullptr || hash == nullptr || seq == nullptr || at == nullptr ||
      body == nullptr) {
    return std::nullopt;
  }
  auto body_text = ToJson(*body);
  if (!body_text) return std::nullopt;
  return AuditLine{*owner,
                   {.seq = *seq,
                    .event = {.at = SystemTime(std::chrono::microseconds(*at)),
                              .kind = *kind,
                              .body = *std::move(body_text)},
                    .hash = *hash}};
}

Result<std::string> ReadAll(const UniqueFd& file) {
  std::string text;
  std::vector<char> piece(1u << 20);
  for (;;) {
    const ssize_t n = ::read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::FromErrno(errno, "read the audit file");
    if (n == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

asio::awaitable<Result<AuditHead>> VerifyAudit(AuditLog& log, IsolationKey owner) {
  // Read the head first; entries appended meanwhile come after it.
  const auto head = co_await log.Head(owner);
  if (!head) co_return head.error();
  AuditHead seen;
  while (seen.seq < head->seq) {
    const auto left = static_cast<std::uint64_t>(head->seq - seen.seq);
    const auto limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kEntriesAtOnce));
    const auto entries = co_await log.Read(owner, seen.seq, limit);
    if (!entries) co_return entries.error();
    if (entries->empty()) break;
    auto good = VerifyChain(*entries, seen.hash, seen.seq);
    if (!good) co_return std::move(good).error();
    seen = {entries->back().seq, entries->back().hash};
  }
  if (seen == *head) co_return seen;
  co_return Error(ErrorCode::kFailedPrecondition,
                  "the audit log ends at entry " + std::to_string(seen.seq) +
                      ", but the last written entry is " + std::to_string(head->seq));
}

Result<std::string> ToAuditLine(const std::string& owner, const AuditEntry& entry) {
  TRY_ASSIGN(Value body, ParseJson(entry.event.body));
  return ToJson(Value(Dict{{{"owner", owner},
                            {"seq", entry.seq},
                            {"at_us", Microseconds(entry.event.at)},
                            {"kind", entry.event.kind},
                            {"body", std::move(body)},
                            {"hash", entry.hash}}}));
}

Result<std::map<std::string, AuditHead>> VerifyAuditLines(std::string_view text) {
  std::map<std::string, AuditHead> heads;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string where = "line " + std::to_string(number);
    const std::size_t end = text.find('\n');
    const auto line = ParseLine(text.substr(0, end));
    if (!line || end == text.npos) {
      return Error(ErrorCode::kFailedPrecondition, where + " is not an entry of an audit log");
    }
    AuditHead& head = heads[line->owner];
    auto follows = VerifyChain({&line->entry, 1}, head.hash, head.seq);
    if (!follows) return std::move(follows).error().Context(where);
    head = {line->entry.seq, line->entry.hash};
    text.remove_prefix(end + 1);
  }
  return heads;
}

Result<AuditFile> AuditFile::Open(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600));
  if (!file.is_open()) return Error::FromErrno(errno, "open the audit file " + path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorCode::kUnavailable, "another process writes the audit file " + path);
  }
  TRY_ASSIGN(std::string text, ReadAll(file));
  const std::size_t whole = text.rfind('\n') + 1;  // 0 if there is no complete line.
  if (whole < text.size()) {
    text.resize(whole);
    if (::ftruncate(file.get(), static_cast<off_t>(whole)) != 0) {
      return Error::FromErrno(errno, "cut the last line of " + path);
    }
  }
  auto heads = VerifyAuditLines(text);
  if (!heads) return std::move(heads).error().Context(path);
  return AuditFile(std::move(file), *std::move(heads));
}

Result<void> AuditFile::Write(std::string_view lines) {
  const off_t whole = ::lseek(file_.get(), 0, SEEK_END);
  for (std::string_view rest = lines; !rest.empty();) {
    const ssize_t n = ::write(file_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int why = errno;
      // Half a line would corrupt the next one. If this fails too, Open cuts it off.
      std::ignore = ::ftruncate(file_.get(), whole);
      return Error::FromErrno(why, "write the audit file");
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fdatasync(file_.get()) != 0) return Error::FromErrno(errno, "sync the audit file");
  return {};
}

asio::awaitable<Result<std::size_t>> AuditFile::CatchUp(Store& store) {
  const auto heads = co_await store.maintenance().AuditHeads();
  if (!heads) co_return heads.error();
  Result<std::size_t> count = 0;
  for (const OwnedAuditHead& each : *heads) {
    // The broken chain of one owner must not block the others.
    auto copied = co_await CatchUp(store.audit(), each);
    if (count && copied) {
      *count += *copied;
    } else if (count) {
      count = std::move(copied).error();
    }
  }
  co_return count;
}

asio::awaitable<Result<std::size_t>> AuditFile::CatchUp(AuditLog& log,
                                                        const OwnedAuditHead& until) {
  AuditHead& written = written_[until.owner.str()];
  std::size_t count = 0;
  while (written.seq < until.head.seq) {
    const auto entries = co_await log.Read(until.owner, written.seq, kEntriesAtOnce);
    if (!entries) co_return entries.error();
    if (entries->empty()) {
      co_return Error(ErrorCode::kFailedPrecondition, "entries of an audit log are missing");
    }
    auto good = VerifyChain(*entries, written.hash, written.seq);
    if (!good) co_return std::move(good).error();
    std::string lines;
    for (const AuditEntry& entry : *entries) {
      auto line = ToAuditLine(until.owner.str(), entry);
      if (!line) co_return std::move(line).error();
      lines.append(*line).append("\n");
    }
    if (auto done = Write(lines); !done) co_return std::move(done).error();
    written = {entries->back().seq, entries->back().hash};
    count += entries->size();
  }
  co_return count;
}

}  // namespace caisson
