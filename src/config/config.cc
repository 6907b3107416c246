#include "config/config.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/network.h"
#include "config/agent_tables.h"
#include "config/identity_table.h"
#include "config/run_tables.h"
#include "config/table_reader.h"
#include "policy/toml.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxFileBytes = 4u << 20;
// A shorter lease can expire while a busy machine renews it; a longer one only delays the recovery
// of runs.
constexpr std::chrono::seconds kShortestLease{1};
constexpr std::chrono::seconds kLongestLease{600};

ServerConfig ReadServer(TableReader table) {
  ServerConfig server;
  table.Read("listen", server.listen);
  table.Read("hosts", server.hosts);
  table.Read("origins", server.origins);
  table.ReadSeconds("drain_seconds", server.drain);
  table.Read("max_connections", server.max_connections);
  table.Read("max_connections_per_peer", server.max_connections_per_peer);
  table.Read("proxies", server.proxies);
  for (const std::string& proxy : server.proxies) {
    const auto network = Network::Parse(proxy);
    if (!network) table.Complain("proxies", network.error().message());
  }
  table.Finish();
  return server;
}

StoreConfig ReadStore(TableReader table) {
  StoreConfig store{.is_configured = true};
  table.Read("url", store.url);
  table.ReadSecret("keys", store.keys);
  const bool known = store.url.starts_with("sqlite:") || store.url == "memory:" ||
                     store.url.starts_with("postgres://") || store.url.starts_with("postgresql://");
  if (!known) table.Complain("url", "must begin with sqlite:, postgres:// or be memory:");
  table.Finish();
  return store;
}

ApprovalsConfig ReadApprovals(TableReader table) {
  ApprovalsConfig approvals;
  table.ReadSeconds("expire_seconds", approvals.expire);
  table.ReadSeconds("poll_seconds", approvals.poll);
  table.Read("max_pending", approvals.max_pending);
  table.Finish();
  return approvals;
}

constexpr std::uint64_t kMostJournalBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostStoredBytes = std::uint64_t{1} << 40;

RunsConfig ReadRuns(TableReader table) {
  RunsConfig runs;
  table.ReadSeconds("lease_seconds", runs.lease);
  if (runs.lease && (*runs.lease < kShortestLease || *runs.lease > kLongestLease)) {
    table.Complain("lease_seconds", "must be from 1 to 600");
  }
  table.ReadSeconds("park_seconds", runs.park);
  table.Read("max_parked", runs.max_parked);
  table.Read("max_parked_bytes", runs.max_parked_bytes);
  table.Read("max_waiting", runs.max_waiting);
  table.Read("max_waiting_bytes", runs.max_waiting_bytes);
  table.Read("max_waiting_in_all", runs.max_waiting_in_all);
  table.Read("max_waiting_bytes_in_all", runs.max_waiting_bytes_in_all);
  table.Read("max_cells", runs.max_cells);
  table.Read("max_queued", runs.max_queued);
  table.Read("max_journal_bytes", runs.max_journal_bytes);
  if (runs.max_journal_bytes > kMostJournalBytes) {
    table.Complain("max_journal_bytes", "must be at most 1073741824 (1 GiB)");
  }
  table.Read("max_stored_bytes", runs.max_stored_bytes);
  if (runs.max_stored_bytes > kMostStoredBytes) {
    table.Complain("max_stored_bytes", "must be at most 1099511627776 (1 TiB)");
  }
  table.Finish();
  return runs;
}

RetentionConfig ReadRetention(TableReader table) {
  RetentionConfig retention;
  table.ReadDays("runs_days", retention.runs);
  table.ReadDays("responses_days", retention.responses);
  table.ReadDays("sessions_days", retention.sessions);
  table.ReadDays("checkpoints_days", retention.checkpoints);
  table.Finish();
  return retention;
}

AuditConfig ReadAudit(TableReader table) {
  AuditConfig audit;
  table.Read("file", audit.file);
  table.Finish();
  return audit;
}

EngineConfig ReadEngine(TableReader table) {
  EngineConfig engine;
  table.ReadChoice<EngineChoice>("default", engine.choice,
                                 {{"auto", EngineChoice::kAuto},
                                  {"wasm", EngineChoice::kWasm},
                                  {"native", EngineChoice::kNative}});
  table.ReadChoice<std::string>(
      "tier", engine.tier,
      {{"namespace", "namespace"}, {"landlock", "landlock"}, {"none", "none"}});
  table.Read("scratch", engine.scratch);
  table.Read("native_packages", engine.native_packages);
  table.Read("prepare_cells", engine.prepare_cells);
  using OwnersPerWorker = EngineConfig::OwnersPerWorker;
  table.ReadChoice<OwnersPerWorker>(
      "owners_per_worker", engine.owners_per_worker,
      {{"many", OwnersPerWorker::kMany}, {"one", OwnersPerWorker::kOne}});
  table.Finish();
  return engine;
}

PythonConfig ReadPython(TableReader table) {
  PythonConfig python;
  table.Read("prefix", python.prefix);
  table.Finish();
  return python;
}

WorkerConfig ReadWorker(TableReader table) {
  WorkerConfig worker;
  table.Read("keep", worker.keep);
  table.Finish();
  return worker;
}

void ReadAllLimits(const toml::table& table, Config& config, Problems& problems) {
  if (const toml::node* max = table.get("max")) {
    if (const toml::table* limits = max->as_table()) {
      ReadLimits(*limits, "limits.max", DefaultCeiling(), config.max_limits, problems);
    } else {
      problems.Add(*max, "limits.max must be a table");
    }
  }
  ReadLimits(table, "limits", config.max_limits, config.limits, problems);
  config.limits = LowerTo(config.max_limits, config.limits);
}

ApprovalConfig ReadApproval(TableReader& table, const std::string& name, Problems& problems) {
  using Mode = ApprovalConfig::Mode;
  ApprovalConfig approval;
  const toml::node* node = table.Find("approval");
  const toml::table* rules = node == nullptr ? nullptr : node->as_table();
  if (rules == nullptr) {
    table.ReadChoice<Mode>("approval", approval.mode,
                           {{"never", Mode::kNever}, {"always", Mode::kAlways}});
    return approval;
  }
  TableReader reader(*rules, name + ".approval", problems);
  std::optional<Value> when;
  std::optional<Value> unless;
  reader.Read("when", when);
  reader.Read("unless", unless);
  if (when.has_value() == unless.has_value()) {
    table.Complain("approval", "must have \"when\" or \"unless\", a schema of the arguments");
  }
  reader.Finish();
  approval.mode = when ? Mode::kWhen : Mode::kUnless;
  approval.schema = when ? *when : unless.value_or(Value());
  return approval;
}

SecretHeaderConfig ReadSecretHeader(TableReader table) {
  SecretHeaderConfig header;
  table.Read("name", header.name);
  table.Read("prefix", header.prefix);
  table.ReadSecret("value", header.value);
  table.Require("name");
  if (header.value.environment.empty() && header.value.file.empty()) {
    table.Complain("value_env", "or value_file is needed");
  }
  table.Finish();
  return header;
}

HttpRuleConfig ReadHttpRule(TableReader table, Problems& problems) {
  HttpRuleConfig rule;
  table.Read("url", rule.url);
  table.Read("methods", rule.methods);
  table.Read("allow_private", rule.allow_private);
  table.EachTable("header", [&](const toml::table& header, const std::string& name) {
    rule.headers.push_back(ReadSecretHeader(TableReader(header, name, problems)));
  });
  table.Require("url");
  if (rule.methods.empty()) table.Complain("methods", "must name at least one method");
  table.Finish();
  return rule;
}

void ReadHttpTool(TableReader& table, HttpToolConfig& http, Problems& problems) {
  table.EachTable("allow", [&](const toml::table& rule, const std::string& name) {
    http.rules.push_back(ReadHttpRule(TableReader(rule, name, problems), problems));
  });
  table.Read("max_response_bytes", http.max_response_bytes);
  table.Read("max_request_bytes", http.max_request_bytes);
  table.Read("max_redirects", http.max_redirects);
  table.Read("calls_per_minute", http.calls_per_minute);
}

void ReadCommandTool(TableReader& table, CommandToolConfig& command) {
  table.Read("command", command.command);
  table.Read("directory", command.directory);
  table.Read("inherit_env", command.inherit_env);
  table.Read("env", command.env);
  table.Read("max_output_bytes", command.max_output_bytes);
  if (command.command.empty()) table.Complain("command", "must name a program");
}

ToolConfig ReadTool(const toml::table& source, const std::string& name, Problems& problems) {
  TableReader table(source, name, problems);
  ToolConfig tool;
  table.Read("name", tool.name);
  table.Read("description", tool.description);
  table.ReadChoice<ToolConfig::Kind>(
      "kind", tool.kind,
      {{"command", ToolConfig::Kind::kCommand}, {"http", ToolConfig::Kind::kHttp}});
  table.Read("input_schema", tool.input_schema);
  table.Read("output_schema", tool.output_schema);
  table.Read("idempotent", tool.idempotent);
  table.Read("max_calls", tool.max_calls);
  table.ReadSeconds("timeout_seconds", tool.timeout);
  tool.approval = ReadApproval(table, name, problems);
  table.Require("name");
  table.Require("kind");
  if (tool.kind == ToolConfig::Kind::kHttp) {
    ReadHttpTool(table, tool.http, problems);
  } else {
    ReadCommandTool(table, tool.command);
  }
  table.Finish();
  return tool;
}

UpstreamConfig ReadUpstream(const toml::table& source, const std::string& name,
                            Problems& problems) {
  TableReader table(source, name, problems);
  UpstreamConfig upstream;
  table.Read("name", upstream.name);
  table.Read("command", upstream.command);
  table.Read("url", upstream.url);
  table.ReadSecret("bearer", upstream.bearer);
  table.Read("certificates", upstream.certificates);
  table.Read("inherit_env", upstream.inherit_env);
  table.Read("env", upstream.env);
  // An empty prefix is allowed.
  if (const toml::node* prefix = table.Find("prefix"))
    upstream.prefix = prefix->value<std::string>();
  table.Read("allow", upstream.allow);
  table.Read("deny", upstream.deny);
  table.Read("ask", upstream.ask);
  table.Read("trust_read_only", upstream.trust_read_only);
  table.Read("shared", upstream.shared);
  table.Read("max_instances", upstream.max_instances);
  table.ReadSeconds("idle_seconds", upstream.idle);
  table.ReadSeconds("timeout_seconds", upstream.timeout);
  table.ReadSeconds("longest_seconds", upstream.longest);
  upstream.approval = ReadApproval(table, name, problems);
  table.Require("name");
  if (upstream.command.empty() == upstream.url.empty()) {
    table.Complain("command", "or url is needed, one of them");
  }
  if (upstream.url.empty() && !upstream.certificates.empty()) {
    table.Complain("certificates", "are for servers behind a url");
  }
  if (upstream.timeout && upstream.longest && *upstream.longest < *upstream.timeout) {
    table.Complain("longest_seconds", "must not be below timeout_seconds");
  }
  table.Finish();
  return upstream;
}

// Reads one document.
class ConfigReader {
 public:
  ConfigReader(const toml::table& document, std::string_view file_name, const ConfigChecks& checks)
      : problems_(file_name),
        document_(document, "", problems_),
        directory_(std::filesystem::path(file_name).parent_path().string()),
        checks_(checks) {}

  Result<Config> Read() {
    With("server", [&](TableReader table) { config_.server = ReadServer(std::move(table)); });
    With("store", [&](TableReader table) { config_.store = ReadStore(std::move(table)); });
    With("approvals",
         [&](TableReader table) { config_.approvals = ReadApprovals(std::move(table)); });
    With("runs", [&](TableReader table) { config_.runs = ReadRuns(std::move(table)); });
    With("retention",
         [&](TableReader table) { config_.retention = ReadRetention(std::move(table)); });
    With("audit", [&](TableReader table) { config_.audit = ReadAudit(std::move(table)); });
    With("identity",
         [&](TableReader table) { config_.identity = ReadIdentity(std::move(table), problems_); });
    With("engine", [&](TableReader table) { config_.engine = ReadEngine(std::move(table)); });
    With("worker", [&](TableReader table) { config_.worker = ReadWorker(std::move(table)); });
    With("python", [&](TableReader table) { config_.python = ReadPython(std::move(table)); });
    if (const toml::table* table = document_.Table("policy")) ReadPolicy(*table);
    if (const toml::table* table = document_.Table("limits")) {
      ReadAllLimits(*table, config_, problems_);
    }
    document_.EachTable("mount", [&](const toml::table& table, const std::string& name) {
      config_.mounts.push_back(ReadMount(TableReader(table, name, problems_)));
      mount_tables_.emplace_back(&table, name);
    });
    document_.EachTable("tool", [&](const toml::table& table, const std::string& name) {
      config_.tools.push_back(ReadTool(table, name, problems_));
      const ToolConfig& tool = config_.tools.back();
      if (checks_.tool && !tool.name.empty()) Judge(table, name, checks_.tool(tool));
    });
    document_.EachTable("upstream", [&](const toml::table& table, const std::string& name) {
      config_.upstreams.push_back(ReadUpstream(table, name, problems_));
    });
    ReadAgents();
    document_.Finish();
    CheckNames();
    config_.directory = directory_;
    JudgeMounts(config_.mounts, mount_tables_);
    for (std::size_t i = 0; i < config_.agents.size(); ++i) {
      JudgeMounts(config_.agents[i].mounts, agent_mount_tables_[i]);
    }
    if (problems_.text().empty()) {
      JudgeAll(config_.models, model_tables_, checks_.model);
      JudgeAll(config_.agents, agent_tables_, checks_.agent);
    }
    const std::string problems = problems_.text();
    if (problems.empty()) return std::move(config_);
    return Error(ErrorCode::kInvalidArgument, problems);
  }

 private:
  template <typename F>
  void With(std::string_view key, F read) {
    if (const toml::table* table = document_.Table(key)) {
      read(TableReader(*table, std::string(key), problems_));
    }
  }

  void Judge(const toml::table& table, const std::string& name, const Result<void>& judged) {
    if (!judged) problems_.Add(table, name + ": " + judged.error().message());
  }

  // Reads the tables that may name those before them.
  void ReadAgents() {
    document_.EachTable("model", [&](const toml::table& table, const std::string& name) {
      config_.models.push_back(ReadModel(table, name, problems_));
      model_tables_.emplace_back(&table, name);
    });
    document_.EachTable("agent", [&](const toml::table& table, const std::string& name) {
      Tables& mounts = agent_mount_tables_.emplace_back();
      agent_tables_.emplace_back(&table, name);
      config_.agents.push_back(
          ReadAgent(table, name, config_, problems_,
                    [&](const toml::table& mount, const std::string& mount_name) {
                      mounts.emplace_back(&mount, mount_name);
                    }));
    });
    document_.EachTable("workflow", [&](const toml::table& table, const std::string& name) {
      config_.workflows.push_back(ReadWorkflow(TableReader(table, name, problems_)));
    });
  }

  using Tables = std::vector<std::pair<const toml::table*, std::string>>;  // With their names.

  // Only a file without other mistakes is checked any further.
  template <typename T>
  void JudgeAll(const std::vector<T>& items, const Tables& tables,
                const std::function<Result<void>(const T&, const Config&)>& check) {
    for (std::size_t i = 0; check && i < items.size(); ++i) {
      Judge(*tables[i].first, tables[i].second, check(items[i], config_));
    }
  }

  // `tables`: the table of each mount.
  void JudgeMounts(const std::vector<MountConfig>& mounts, const Tables& tables) {
    if (!checks_.mounts) return;
    std::vector<MountConfig> whole;
    Tables their_tables;
    for (std::size_t i = 0; i < mounts.size(); ++i) {
      if (mounts[i].host.empty() || mounts[i].guest.empty()) continue;
      whole.push_back(mounts[i]);
      their_tables.push_back(tables[i]);
    }
    const auto judged = checks_.mounts(whole, config_);
    for (std::size_t i = 0; i < judged.size(); ++i) {
      Judge(*their_tables[i].first, their_tables[i].second, judged[i]);
    }
  }

  void ReadPolicy(const toml::table& table) {
    auto policy = ParsePolicy(table);
    if (!policy) return problems_.Add(table, policy.error().message());
    config_.policy = *std::move(policy);
  }

  template <typename T>
  void CheckTwins(std::string_view key, const std::vector<T>& items) {
    std::set<std::string> seen;
    for (const T& item : items) {
      if (!item.name.empty() && !seen.insert(item.name).second) {
        document_.Complain(key, "\"" + item.name + "\" occurs twice");
      }
    }
  }

  void CheckNames() {
    CheckTwins("tool", config_.tools);
    CheckTwins("upstream", config_.upstreams);
    CheckTwins("model", config_.models);
    CheckTwins("agent", config_.agents);
    CheckTwins("workflow", config_.workflows);
    for (const WorkflowConfig& workflow : config_.workflows) {
      if (std::ranges::find(config_.agents, workflow.name, &AgentConfig::name) !=
          config_.agents.end()) {
        document_.Complain("workflow", "\"" + workflow.name + "\" is also the name of an agent");
      }
    }
  }

  Problems problems_;
  TableReader document_;
  const std::string directory_;
  const ConfigChecks& checks_;
  Config config_;
  Tables mount_tables_;
  Tables model_tables_;
  Tables agent_tables_;
  std::vector<Tables> agent_mount_tables_;  // One for each agent.
};

}  // namespace

Result<Config> ParseConfig(std::string_view text, std::string_view file_name,
                           const ConfigChecks& checks) {
  toml::table document;
  try {
    document = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Error(ErrorCode::kInvalidArgument, std::string(file_name) + ":" +
                                                  std::to_string(error.source().begin.line) + ": " +
                                                  std::string(error.description()));
  }
  return ConfigReader(document, file_name, checks).Read();
}

Result<Config> LoadConfig(const std::string& path, const ConfigChecks& checks) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
    return Error(ErrorCode::kNotFound, "cannot read the configuration file " + path + ": " +
                                           std::system_category().message(errno));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return Error(ErrorCode::kInvalidArgument, path + " is too large for a configuration file");
  }
  return ParseConfig(text, path, checks);
}

}  // namespace caisson
