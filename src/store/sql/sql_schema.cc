#include "store/sql/sql_schema.h"

#include <array>
#include <string>

namespace caisson {
namespace {

// The owner, an isolation key, comes first in every primary key (I3). A test reads the tables and
// checks this.
constexpr Migration kFirst = R"(
CREATE TABLE runs (
  owner {text} NOT NULL, id {text} NOT NULL, state {text} NOT NULL, fence BIGINT NOT NULL,
  holder {text}, lease_until BIGINT NOT NULL, code_digest {text} NOT NULL, request {bytes} NOT NULL,
  outcome {bytes}, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
  PRIMARY KEY (owner, id));
CREATE INDEX runs_under_way ON runs (lease_until) WHERE state = 'running';
CREATE INDEX runs_waiting ON runs (owner) WHERE state = 'waiting';
CREATE INDEX runs_done ON runs (updated_at) WHERE state = 'finished';

CREATE TABLE saved_runs (
  owner {text} NOT NULL, run {text} NOT NULL, seq BIGINT NOT NULL, build {text} NOT NULL,
  sealed {bytes} NOT NULL, sealed_bytes BIGINT NOT NULL,
  PRIMARY KEY (owner, run));

CREATE TABLE run_files (
  owner {text} NOT NULL, run {text} NOT NULL, number BIGINT NOT NULL, contents {bytes} NOT NULL,
  PRIMARY KEY (owner, run, number));

CREATE TABLE calls (
  owner {text} NOT NULL, run {text} NOT NULL, seq BIGINT NOT NULL, state {text} NOT NULL,
  tool {text} NOT NULL, tool_digest {text} NOT NULL, arguments {bytes} NOT NULL,
  arguments_digest {text} NOT NULL, idempotency_key {text} NOT NULL, approval {text}, result {bytes},
  begun_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
  PRIMARY KEY (owner, run, seq));

CREATE TABLE approvals (
  owner {text} NOT NULL, id {text} NOT NULL, run {text} NOT NULL, seq BIGINT NOT NULL,
  state {text} NOT NULL, tool {text} NOT NULL, tool_digest {text} NOT NULL,
  arguments_digest {text} NOT NULL, code_digest {text} NOT NULL, arguments {bytes} NOT NULL,
  created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
  verdict {text}, decided_by {text}, decided_at BIGINT, reason {text},
  PRIMARY KEY (owner, id), UNIQUE (owner, run, seq));
CREATE INDEX approvals_pending ON approvals (owner) WHERE state = 'pending';
CREATE INDEX approvals_expiring ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_decided ON approvals (owner, run)
  WHERE state IN ('approved', 'denied', 'expired', 'cancelled');

CREATE TABLE grants (
  owner {text} NOT NULL, id {text} NOT NULL, tool {text} NOT NULL, pattern {bytes} NOT NULL,
  scope {text} NOT NULL, granted_by {text} NOT NULL, granted_at BIGINT NOT NULL,
  revoked_at BIGINT,
  PRIMARY KEY (owner, id));

CREATE TABLE audit (
  owner {text} NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL, kind {text} NOT NULL,
  body {text} NOT NULL, hash {text} NOT NULL,
  PRIMARY KEY (owner, seq));
CREATE TABLE audit_heads (
  owner {text} NOT NULL, seq BIGINT NOT NULL, hash {text} NOT NULL,
  PRIMARY KEY (owner));

CREATE TABLE checkpoints (
  owner {text} NOT NULL, instance {text} NOT NULL, id {text} NOT NULL, position BIGINT NOT NULL,
  body {bytes} NOT NULL, created_at BIGINT NOT NULL,
  PRIMARY KEY (owner, instance, id), UNIQUE (owner, instance, position));
CREATE TABLE checkpoint_heads (
  owner {text} NOT NULL, instance {text} NOT NULL, head {text} NOT NULL, position BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (owner, instance));

CREATE TABLE responses (
  owner {text} NOT NULL, id {text} NOT NULL, previous {text}, version BIGINT NOT NULL,
  body {bytes} NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
  PRIMARY KEY (owner, id));
CREATE TABLE conversations (
  owner {text} NOT NULL, id {text} NOT NULL, body {bytes} NOT NULL, length BIGINT NOT NULL,
  created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
  PRIMARY KEY (owner, id));
CREATE TABLE conversation_items (
  owner {text} NOT NULL, conversation {text} NOT NULL, position BIGINT NOT NULL,
  body {bytes} NOT NULL,
  PRIMARY KEY (owner, conversation, position));

CREATE TABLE documents (
  owner {text} NOT NULL, collection {text} NOT NULL, id {text} NOT NULL, version BIGINT NOT NULL,
  body {bytes} NOT NULL, updated_at BIGINT NOT NULL,
  PRIMARY KEY (owner, collection, id));

CREATE TABLE idempotency (
  owner {text} NOT NULL, id {text} NOT NULL, fingerprint {text} NOT NULL,
  expires_at BIGINT NOT NULL, reply {bytes},
  PRIMARY KEY (owner, id));
)";

constexpr Migration kSessionOfApprovals = R"(
ALTER TABLE approvals ADD COLUMN session {text};
)";

constexpr Migration kCancelAsked = R"(
ALTER TABLE runs ADD COLUMN cancel_asked_at BIGINT;
CREATE INDEX runs_to_cancel ON runs (holder)
  WHERE cancel_asked_at IS NOT NULL AND state <> 'finished';
CREATE INDEX saved_sizes ON saved_runs (owner, sealed_bytes);
CREATE INDEX saved_nowhere ON saved_runs (owner, run) WHERE sealed_bytes = 0;
)";

constexpr Migration kAttemptsAndGrants = R"(
ALTER TABLE runs ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN retry_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN by_grant {text};
)";

constexpr Migration kSessionIdOfApprovals = R"(
ALTER TABLE approvals ADD COLUMN session_id {text};
)";

constexpr Migration kRealTime = R"(
ALTER TABLE calls ADD COLUMN trace {bytes};
ALTER TABLE saved_runs ADD COLUMN wake_at BIGINT;
CREATE INDEX saved_until ON saved_runs (wake_at) WHERE wake_at IS NOT NULL;
)";

constexpr Migration kStoredBytes = R"(
ALTER TABLE runs ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE runs SET stored_bytes = LENGTH(request) + COALESCE(LENGTH(outcome), 0)
  + COALESCE((SELECT CAST(SUM(LENGTH(arguments) + COALESCE(LENGTH(result), 0)
      + COALESCE(LENGTH(trace), 0)) AS BIGINT) FROM calls
    WHERE calls.owner = runs.owner AND calls.run = runs.id), 0)
  + COALESCE((SELECT CAST(SUM(LENGTH(contents)) AS BIGINT) FROM run_files
    WHERE run_files.owner = runs.owner AND run_files.run = runs.id), 0)
  + COALESCE((SELECT CAST(SUM(LENGTH(arguments)) AS BIGINT) FROM approvals
    WHERE approvals.owner = runs.owner AND approvals.run = runs.id), 0);
CREATE INDEX run_sizes ON runs (owner, stored_bytes);
)";

// SQLite reads a row from its beginning. Outcomes have a table of their own, so that a list of runs
// does not read them. `taken_up`: the holder has changed the run since it claimed it.
constexpr Migration kSummaries = R"(
CREATE TABLE run_outcomes (
  owner {text} NOT NULL, run {text} NOT NULL, outcome {bytes} NOT NULL,
  PRIMARY KEY (owner, run));
INSERT INTO run_outcomes (owner, run, outcome)
  SELECT owner, id, outcome FROM runs WHERE outcome IS NOT NULL;
ALTER TABLE runs DROP COLUMN outcome;
ALTER TABLE runs ADD COLUMN summary {bytes};
ALTER TABLE runs ADD COLUMN taken_up BIGINT NOT NULL DEFAULT 1;
)";

// Responses that replicas work on, what they have told, and the turns of conversations.
constexpr Migration kTurns = R"(
CREATE TABLE response_leases (
  owner {text} NOT NULL, response {text} NOT NULL, holder {text} NOT NULL, fence BIGINT NOT NULL,
  lease_until BIGINT NOT NULL, attempts BIGINT NOT NULL, cancel_asked_at BIGINT,
  PRIMARY KEY (owner, response));
CREATE INDEX response_leases_over ON response_leases (lease_until);
CREATE INDEX response_leases_held ON response_leases (holder);
CREATE TABLE response_events (
  owner {text} NOT NULL, response {text} NOT NULL, number BIGINT NOT NULL, body {bytes} NOT NULL,
  PRIMARY KEY (owner, response, number));
CREATE TABLE conversation_turns (
  owner {text} NOT NULL, conversation {text} NOT NULL, response {text} NOT NULL,
  holder {text} NOT NULL, lease_until BIGINT NOT NULL,
  PRIMARY KEY (owner, conversation));
CREATE INDEX conversation_turns_held ON conversation_turns (holder);
)";

constexpr Migration kEditedArguments = R"(
ALTER TABLE approvals ADD COLUMN edited {bytes};
ALTER TABLE approvals ADD COLUMN edited_digest {text};
ALTER TABLE calls ADD COLUMN edited_digest {text};
)";

constexpr std::array kMigrations = {kFirst,
                                    kSessionOfApprovals,
                                    kCancelAsked,
                                    kAttemptsAndGrants,
                                    kSessionIdOfApprovals,
                                    kRealTime,
                                    kStoredBytes,
                                    kSummaries,
                                    kTurns,
                                    kEditedArguments};

void ReplaceAll(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

// The statements must have no semicolon inside.
Result<void> RunEach(Connection& connection, std::string statements) {
  ReplaceAll(statements, "{text}", connection.dialect().text_type);
  ReplaceAll(statements, "{bytes}", connection.dialect().bytes_type);
  std::string_view rest = statements;
  for (std::size_t end = rest.find(';'); end != rest.npos; end = rest.find(';')) {
    TRY(connection.Run(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace

std::span<const Migration> Migrations() {
  return kMigrations;
}

Result<void> Migrate(Connection& connection, std::span<const Migration> migrations) {
  if (!connection.dialect().schema_lock.empty()) {
    TRY(connection.Run(connection.dialect().schema_lock));
  }
  TRY(connection.Run("CREATE TABLE IF NOT EXISTS caisson_schema (version BIGINT NOT NULL)"));
  TRY_ASSIGN(const SqlResult found, connection.Run("SELECT version FROM caisson_schema"));
  const std::int64_t version = found.rows.empty() ? 0 : found.rows[0].Int(0);
  const auto newest = static_cast<std::int64_t>(migrations.size());
  if (version < 0 || version > newest) {
    return Error(ErrorCode::kFailedPrecondition,
                 "the database has schema version " + std::to_string(version) +
                     ", written by a newer Caisson; this version supports up to " +
                     std::to_string(newest));
  }
  if (version == newest) return {};
  for (const Migration step : migrations.subspan(static_cast<std::size_t>(version))) {
    TRY(RunEach(connection, std::string(step)));
  }
  TRY(connection.Run("DELETE FROM caisson_schema"));
  TRY(connection.Run("INSERT INTO caisson_schema (version) VALUES ($1)", {newest}));
  return {};
}

}  // namespace caisson
