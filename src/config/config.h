// A Config is the configuration file, checked and typed.
//
//   [server]  listen = "127.0.0.1:8080"
//   [[tool]]  name = "send"  kind = "command"  command = ["./send.py"]  approval = "always"
//
// Trust     The operator's own file. Mistakes are reported, all of them, with file and line; nothing is guessed.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/host_files.h"
#include "engine/limits.h"
#include "policy/policy.h"
#include "wire/value.h"

namespace caisson {

// Where a secret is; what it is nobody writes into this file.
struct SecretReference {
  std::string environment{};  // The name of a variable of the host, or
  std::string file{};         // a file that holds it.
};

struct ServerConfig {
  std::string listen = "127.0.0.1:8080";
  std::vector<std::string> hosts{};    // Names it answers to; none: any, except in mode local.
  std::vector<std::string> origins{};  // Web pages, besides its own, that may use it.
  std::optional<std::chrono::nanoseconds> drain{};  // How long requests under way may finish.
  std::optional<std::uint64_t> max_connections{};
  std::optional<std::uint64_t> max_connections_per_peer{};  // Of one address,
  std::vector<std::string> proxies{};  // except these, behind which there are many clients.
};

struct StoreConfig {
  std::string url = "sqlite:caisson.db";
  SecretReference keys{};  // What sealed state is sealed with; by default made beside the database.
  bool is_configured = false;  // The file has this table.
};

struct ApprovalsConfig {
  std::optional<std::chrono::nanoseconds> expire{};  // How long a question stands.
  std::optional<std::chrono::nanoseconds> poll{};    // How often others' decisions are looked for.
  std::optional<std::uint64_t> max_pending{};        // Of one identity.
};

// Runs that wait for somebody.
struct RunsConfig {
  std::optional<std::chrono::nanoseconds> lease{};  // How long a run stays with a dead replica.
  std::optional<std::chrono::nanoseconds> park{};   // How long in memory; then in the store.
  std::optional<std::uint64_t> max_parked{};        // In memory at once,
  std::optional<std::uint64_t>
      max_parked_bytes{};                      // and how much; beyond it the oldest are stored.
  std::optional<std::uint64_t> max_waiting{};  // Of one identity; beyond it calls are denied.
  std::optional<std::uint64_t> max_waiting_bytes{};
  std::optional<std::uint64_t> max_waiting_in_all{};
  std::optional<std::uint64_t> max_waiting_bytes_in_all{};
  // Of one identity: cells that its runs and sessions hold at once in each engine, and further runs that wait for a
  // cell.
  std::optional<std::uint64_t> max_cells{};
  std::optional<std::uint64_t> max_queued{};
  // In the store: the calls of one run, and all runs of one identity. At most 1 GiB and 1 TiB.
  std::optional<std::uint64_t> max_journal_bytes{};
  std::optional<std::uint64_t> max_stored_bytes{};
};

// How long things are kept after they were last touched.
struct RetentionConfig {
  std::optional<std::chrono::nanoseconds> runs{};  // Once they have ended.
  std::optional<std::chrono::nanoseconds> responses{};
  std::optional<std::chrono::nanoseconds> sessions{};  // Snapshots too.
  std::optional<std::chrono::nanoseconds> checkpoints{};
};

struct AuditConfig {
  std::string file{};  // Gets a line of JSON for each entry; none if empty.
};

enum class IdentityMode { kLocal, kKeys, kJwt, kHeaders };

struct IdentityKey {
  std::string tenant;
  std::string user;
  SecretReference value{};
  std::string sha256{};  // Hex, in place of the value.
};

// Tokens of one issuer. Exactly one kind of key.
struct IdentityJwt {
  std::string issuer;
  std::string audience;
  std::string jwks_file{};        // A key set (RFC 7517), or
  std::string public_key_file{};  // one key in PEM, or
  SecretReference secret{};       // a shared secret.
  std::optional<std::chrono::nanoseconds> leeway{};
  std::string tenant_claim{};  // None: tokens name no tenant.
  std::string user_claim = "sub";
  std::string chat_claim{};
};

// Headers that a proxy sets.
struct IdentityHeaderNames {
  std::vector<std::string> proxies;  // Whose headers count: addresses and networks.
  std::string tenant{};
  std::string user{};
  std::string chat{};
};

struct IdentityConfig {
  IdentityMode mode = IdentityMode::kLocal;
  std::optional<bool> strict_isolation{};  // By default on, except in kLocal.
  std::vector<IdentityKey> keys{};
  IdentityJwt jwt{};              // Of kJwt.
  IdentityHeaderNames headers{};  // Of kHeaders.
};

enum class EngineChoice { kAuto, kWasm, kNative };

struct EngineConfig {
  EngineChoice choice = EngineChoice::kAuto;
  std::string tier = "namespace";  // The jail around cells: namespace, landlock or none.
  std::string scratch{};  // Where native cells keep files in tier landlock; empty: $TMPDIR or /tmp.
  std::vector<std::string> native_packages{};
  bool prepare_cells = true;  // Ahead of runs whose cells can be made for somebody only.
  // Engine wasm: whether cells of several owners share a worker process.
  enum class OwnersPerWorker { kMany, kOne };
  OwnersPerWorker owners_per_worker = OwnersPerWorker::kMany;
};

// The interpreter of engine native.
struct PythonConfig {
  // A virtual environment, or another CPython; relative to the file. Empty: the system's packages alone.
  std::string prefix{};
};

// The workers of engine wasm.
struct WorkerConfig {
  std::string
      keep{};  // A directory of older builds, relative to the file, for runs they put to sleep.
};

struct MountConfig {
  std::string host;
  std::string guest;
  MountMode mode = MountMode::kReadOnly;
};

// Which calls need a person's yes (tools/approval.h).
struct ApprovalConfig {
  enum class Mode { kNever, kAlways, kWhen, kUnless };
  Mode mode = Mode::kNever;
  Value schema{};  // For kWhen and kUnless.
};

struct CommandToolConfig {
  std::vector<std::string> command;
  std::string directory{};
  std::vector<std::string> inherit_env{};
  std::vector<std::pair<std::string, std::string>> env{};
  std::optional<std::uint64_t> max_output_bytes{};
};

// A header that the host adds to what leaves it; the code never sees it.
struct SecretHeaderConfig {
  std::string name;
  std::string prefix{};  // "Bearer "
  SecretReference value{};
};

struct HttpRuleConfig {
  std::string url;                     // Scheme, host, port and the start of the path.
  std::vector<std::string> methods{};  // At least one.
  bool allow_private = false;          // Its host may have a private address.
  std::vector<SecretHeaderConfig> headers{};
};

struct HttpToolConfig {
  std::vector<HttpRuleConfig> rules{};
  std::optional<std::uint64_t> max_response_bytes{};
  std::optional<std::uint64_t> max_request_bytes{};
  std::optional<std::uint64_t> max_redirects{};
  std::optional<std::uint64_t> calls_per_minute{};
};

struct ToolConfig {
  enum class Kind { kCommand, kHttp };
  std::string name;
  Kind kind = Kind::kCommand;
  std::string description{};
  std::optional<Value> input_schema{};
  std::optional<Value> output_schema{};
  ApprovalConfig approval{};
  bool idempotent = false;
  std::optional<std::uint64_t> max_calls{};
  std::optional<std::chrono::nanoseconds> timeout{};
  CommandToolConfig command{};
  HttpToolConfig http{};
};

struct UpstreamConfig {
  std::string name;
  std::vector<std::string> command{};  // Or
  std::string url{};
  SecretReference bearer{};
  std::string
      certificates{};  // A PEM file of those who may vouch for it, in place of the system's.
  std::vector<std::string> inherit_env{};
  std::vector<std::pair<std::string, std::string>> env{};
  std::optional<std::string> prefix{};  // Of its tools' names in code; nothing: the name and "_".
  std::vector<std::string> allow{};     // Its tools, by its own names; none: all
  std::vector<std::string> deny{};      // but these.
  ApprovalConfig approval{};            // Of all of them,
  std::vector<std::string> ask{};       // and always of these.
  bool trust_read_only = false;         // Tools that say they only read need no approval.
  bool shared =
      false;  // One instance of it may serve different users; otherwise each has their own,
  std::optional<std::uint64_t> max_instances{};  // of which there are at most so many,
  std::optional<std::chrono::nanoseconds>
      idle{};  // and which ends when it was not used for so long.
  std::optional<std::chrono::nanoseconds> timeout{};  // Of a call,
  std::optional<std::chrono::nanoseconds> longest{};  // begun anew by its progress until this.
};

struct Config {
  ServerConfig server{};
  StoreConfig store{};
  ApprovalsConfig approvals{};
  RunsConfig runs{};
  RetentionConfig retention{};
  AuditConfig audit{};
  IdentityConfig identity{};
  WorkerConfig worker{};
  PythonConfig python{};
  EngineConfig engine{};
  Policy policy{};
  Limits limits{};                       // Of runs that ask for nothing else; at most
  Limits max_limits = DefaultCeiling();  // these, which no run gets more of.
  std::vector<MountConfig> mounts{};
  std::vector<ToolConfig> tools{};
  std::vector<UpstreamConfig> upstreams{};
  std::string directory{};  // Of the file: what relative paths in it are relative to.
};

// What cannot be judged here, since tools and directories are not known here. Each says what is wrong: `mounts` of each
// one, in the order of the given ones, which name both of their paths. `config` has what the file says besides.
struct ConfigChecks {
  std::function<Result<void>(const ToolConfig& tool)> tool{};
  std::function<std::vector<Result<void>>(std::span<const MountConfig> mounts,
                                          const Config& config)>
      mounts{};
};

// The error has one line for each mistake, in the order of the file.
Result<Config> ParseConfig(std::string_view text, std::string_view file_name,
                           const ConfigChecks& checks = {});
Result<Config> LoadConfig(const std::string& path, const ConfigChecks& checks = {});

}  // namespace caisson
