// A Config is the configuration file, checked and typed.
//
//   [server]  listen = "127.0.0.1:8080"
//   [[tool]]  name = "send"  kind = "command"  command = ["./send.py"]  approval = "always"
//
// Trust     The operator's own file. Mistakes are reported, all of them, with file and line;
//           nothing is guessed.
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
#include "config/agent_config.h"
#include "config/shared_parts.h"
#include "engine/limits.h"
#include "policy/policy.h"
#include "wire/value.h"

namespace caisson {

struct ServerConfig {
  std::string listen = "127.0.0.1:8080";
  std::vector<std::string> hosts{};    // Names it answers to; empty: any, except in mode local.
  std::vector<std::string> origins{};  // Web pages, besides its own, that may use it.
  // Time for current requests to finish at shutdown.
  std::optional<std::chrono::nanoseconds> drain{};
  std::optional<std::uint64_t> max_connections{};
  std::optional<std::uint64_t> max_connections_per_peer{};  // For one address,
  std::vector<std::string> proxies{};  // except these, which stand for many clients.
};

struct StoreConfig {
  std::string url = "sqlite:caisson.db";
  SecretReference keys{};      // Keys for sealed state; by default created beside the database.
  bool is_configured = false;  // The file has this table.
};

struct ApprovalsConfig {
  std::optional<std::chrono::nanoseconds> expire{};  // Lifetime of an approval request.
  // Interval of looking for decisions of other processes.
  std::optional<std::chrono::nanoseconds> poll{};
  std::optional<std::uint64_t> max_pending{};  // For one identity.
};

// Runs that wait for a decision.
struct RunsConfig {
  // Time until another replica takes over a dead one's run.
  std::optional<std::chrono::nanoseconds> lease{};
  // Time in memory before the cell is saved in the store.
  std::optional<std::chrono::nanoseconds> park{};
  std::optional<std::uint64_t> max_parked{};  // Maximum number in memory,
  std::optional<std::uint64_t>
      max_parked_bytes{};                      // and maximum size. Beyond it the oldest are saved.
  std::optional<std::uint64_t> max_waiting{};  // For one identity; beyond it calls are denied.
  std::optional<std::uint64_t> max_waiting_bytes{};
  std::optional<std::uint64_t> max_waiting_in_all{};
  std::optional<std::uint64_t> max_waiting_bytes_in_all{};
  // For one identity: the cells that its runs and sessions hold at once in each engine, and the
  // further runs that wait for a cell.
  std::optional<std::uint64_t> max_cells{};
  std::optional<std::uint64_t> max_queued{};
  // In the store: the calls of one run, and all runs of one identity. At most 1 GiB and 1 TiB.
  std::optional<std::uint64_t> max_journal_bytes{};
  std::optional<std::uint64_t> max_stored_bytes{};
};

// How long data is kept after its last use.
struct RetentionConfig {
  std::optional<std::chrono::nanoseconds> runs{};  // Counted from the end of the run.
  std::optional<std::chrono::nanoseconds> responses{};
  std::optional<std::chrono::nanoseconds> sessions{};  // Snapshots too.
  std::optional<std::chrono::nanoseconds> checkpoints{};
};

struct AuditConfig {
  std::string file{};  // Gets one line of JSON for each entry; empty: no file.
};

enum class IdentityMode { kLocal, kKeys, kJwt, kHeaders };

struct IdentityKey {
  std::string tenant;
  std::string user;
  SecretReference value{};
  std::string sha256{};  // Hexadecimal, instead of the value.
};

// Tokens of one issuer. Exactly one kind of key is set.
struct IdentityJwt {
  std::string issuer;
  std::string audience;
  std::string jwks_file{};        // A key set (RFC 7517), or
  std::string public_key_file{};  // one key in PEM, or
  SecretReference secret{};       // a shared secret.
  std::optional<std::chrono::nanoseconds> leeway{};
  std::string tenant_claim{};  // Empty: tokens name no tenant.
  std::string user_claim = "sub";
  std::string chat_claim{};
};

// Headers that a proxy sets.
struct IdentityHeaderNames {
  std::vector<std::string> proxies;  // Addresses and networks whose headers are accepted.
  std::string tenant{};
  std::string user{};
  std::string chat{};
};

struct IdentityConfig {
  IdentityMode mode = IdentityMode::kLocal;
  std::optional<bool> strict_isolation{};  // Default: true, except in kLocal.
  std::vector<IdentityKey> keys{};
  IdentityJwt jwt{};              // For kJwt.
  IdentityHeaderNames headers{};  // For kHeaders.
};

enum class EngineChoice { kAuto, kWasm, kNative };

struct EngineConfig {
  EngineChoice choice = EngineChoice::kAuto;
  std::string tier = "namespace";  // The boundary around cells: namespace, landlock or none.
  // Directory for files of native cells in tier landlock; empty: $TMPDIR or /tmp.
  std::string scratch{};
  std::vector<std::string> native_packages{};
  bool prepare_cells = true;  // Prepares cells ahead of runs, for one owner each.
  // Engine wasm: may cells of several owners share a worker process?
  enum class OwnersPerWorker { kMany, kOne };
  OwnersPerWorker owners_per_worker = OwnersPerWorker::kMany;
};

// The interpreter of engine native.
struct PythonConfig {
  // A virtual environment, or another CPython; relative to the file. Empty: the system's packages
  // only.
  std::string prefix{};
};

// The workers of engine wasm.
struct WorkerConfig {
  std::string
      keep{};  // A directory of older builds, relative to the file, for runs that they saved.
};

// The calls that need an approval (tools/approval.h).
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

// A header that the host adds to outgoing requests. The code never sees it.
struct SecretHeaderConfig {
  std::string name;
  std::string prefix{};  // "Bearer "
  SecretReference value{};
};

struct HttpRuleConfig {
  std::string url;                     // Scheme, host, port and the start of the path.
  std::vector<std::string> methods{};  // At least one.
  bool allow_private = false;          // The host may have a private address.
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
      certificates{};  // A PEM file of trusted certificate authorities, instead of the system's.
  std::vector<std::string> inherit_env{};
  std::vector<std::pair<std::string, std::string>> env{};
  std::optional<std::string> prefix{};  // Of its tools' names in code; nullopt: the name and "_".
  std::vector<std::string> allow{};     // Its tools, by their original names; empty: all
  std::vector<std::string> deny{};      // except these.
  ApprovalConfig approval{};            // For all of them,
  std::vector<std::string> ask{};       // and always for these.
  bool trust_read_only = false;         // Tools that declare themselves read-only need no approval.
  bool shared = false;  // true: one instance may serve different users. false: each has their own,
  std::optional<std::uint64_t> max_instances{};  // at most this many,
  std::optional<std::chrono::nanoseconds>
      idle{};  // and an instance ends when unused for this long.
  std::optional<std::chrono::nanoseconds> timeout{};  // For one call;
  std::optional<std::chrono::nanoseconds> longest{};  // progress restarts it, up to this total.
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
  Limits limits{};                       // Defaults of runs; at most
  Limits max_limits = DefaultCeiling();  // these, which no run can exceed.
  std::vector<MountConfig> mounts{};
  std::vector<ToolConfig> tools{};
  std::vector<UpstreamConfig> upstreams{};
  std::vector<ModelConfig> models{};
  std::vector<AgentConfig> agents{};
  std::vector<WorkflowConfig> workflows{};
  std::string directory{};  // Directory of the file. Relative paths start there.
};

// Checks that need knowledge of tools and directories, which this folder does not have. Each
// returns what is wrong. `mounts` returns one result per given mount, in that order; a mount names
// both of its paths. `config` has the rest of the file.
struct ConfigChecks {
  std::function<Result<void>(const ToolConfig& tool)> tool{};
  std::function<std::vector<Result<void>>(std::span<const MountConfig> mounts,
                                          const Config& config)>
      mounts{};
  std::function<Result<void>(const ModelConfig& model, const Config& config)> model{};
  std::function<Result<void>(const AgentConfig& agent, const Config& config)> agent{};
};

// The error has one line for each mistake, in the order of the file.
Result<Config> ParseConfig(std::string_view text, std::string_view file_name,
                           const ConfigChecks& checks = {});
Result<Config> LoadConfig(const std::string& path, const ConfigChecks& checks = {});

}  // namespace caisson
