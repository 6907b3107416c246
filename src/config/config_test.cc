#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Config Parse(std::string_view text) {
  auto config = ParseConfig(text, "caisson.toml");
  if (!config) ADD_FAILURE() << config.error().message();
  return config ? *std::move(config) : Config();
}

std::string Mistakes(std::string_view text) {
  const auto config = ParseConfig(text, "caisson.toml");
  return config ? "" : config.error().message();
}

TEST(ConfigTest, EveryTableIsOptional) {
  const Config config = Parse("");
  EXPECT_EQ(config.server.listen, "127.0.0.1:8080");
  EXPECT_EQ(config.identity.mode, IdentityMode::kLocal);
  EXPECT_EQ(config.engine.choice, EngineChoice::kAuto);
  EXPECT_EQ(config.engine.tier, "namespace");
  EXPECT_TRUE(config.engine.prepare_cells);
  EXPECT_EQ(config.engine.owners_per_worker, EngineConfig::OwnersPerWorker::kMany);
  EXPECT_TRUE(config.tools.empty());
}

TEST(ConfigTest, ReadsAllOfIt) {
  const Config config = Parse(R"(
[server]
listen = "0.0.0.0:9000"
max_connections = 5000
max_connections_per_peer = 100
proxies = ["10.0.0.0/8", "::1"]
[store]
url = "postgres://db/caisson"
keys_env = "RING"
[approvals]
expire_seconds = 172800
poll_seconds = 0.5
max_pending = 20
[runs]
lease_seconds = 2.5
park_seconds = 5
max_parked = 6
max_parked_bytes = 7
max_waiting = 8
max_waiting_bytes = 9
max_waiting_in_all = 10
max_waiting_bytes_in_all = 11
max_cells = 12
max_journal_bytes = 1073741824
max_stored_bytes = 1099511627776
max_queued = 13
[retention]
runs_days = 1
responses_days = 0.5
sessions_days = 36500
checkpoints_days = 3
[audit]
file = "audit.jsonl"
[identity]
mode = "keys"
[[identity.key]]
tenant = "acme"
user = "ann"
value_env = "ANN_KEY"
[engine]
tier = "landlock"
default = "native"
native_packages = ["numpy", "pandas"]
prepare_cells = false
owners_per_worker = "one"
[worker]
keep = "kept"
[python]
prefix = "venv"
[policy]
preset = "strict"
allow_imports = ["sys"]
[limits]
wall_seconds = 2.5
memory_bytes = 1048576
[[mount]]
host = "data"
guest = "/input"
mode = "ro"
[[tool]]
name = "send"
kind = "command"
command = ["./send.py", "-v"]
description = "Sends."
approval = "always"
timeout_seconds = 3
max_calls = 5
idempotent = true
inherit_env = ["PATH"]
env = { MODE = "live" }
input_schema = { type = "object", properties = { to = { type = "string" }, body = { type = "string" } }, required = ["to"] }
[[tool]]
name = "fetch"
kind = "http"
approval = { unless = { properties = { method = { const = "GET" } } } }
calls_per_minute = 60
[[tool.allow]]
url = "https://api.example.com/v1"
methods = ["GET", "POST"]
[[tool.allow.header]]
name = "Authorization"
prefix = "Bearer "
value_file = "token"
[[upstream]]
name = "files"
command = ["npx", "-y", "x"]
prefix = "fs_"
allow = ["read_file", "write_file"]
deny = ["move_file"]
ask = ["write_file"]
approval = "never"
trust_read_only = true
timeout_seconds = 5
[[upstream]]
name = "search"
url = "https://mcp.example.com"
bearer_env = "SEARCH"
certificates = "ca.pem"
timeout_seconds = 5
longest_seconds = 90
)");
  EXPECT_EQ(config.server.listen, "0.0.0.0:9000");
  EXPECT_EQ(config.server.max_connections, 5000u);
  EXPECT_EQ(config.server.max_connections_per_peer, 100u);
  EXPECT_THAT(config.server.proxies, ElementsAre("10.0.0.0/8", "::1"));
  EXPECT_EQ(config.store.keys.environment, "RING");
  EXPECT_EQ(config.approvals.expire, std::chrono::hours(48));
  EXPECT_EQ(config.approvals.poll, std::chrono::milliseconds(500));
  EXPECT_EQ(config.approvals.max_pending, 20u);
  EXPECT_EQ(config.runs.lease, std::chrono::milliseconds(2500));
  EXPECT_EQ(config.runs.park, std::chrono::seconds(5));
  EXPECT_EQ(config.runs.max_parked, 6u);
  EXPECT_EQ(config.runs.max_parked_bytes, 7u);
  EXPECT_EQ(config.runs.max_waiting, 8u);
  EXPECT_EQ(config.runs.max_waiting_bytes, 9u);
  EXPECT_EQ(config.runs.max_waiting_in_all, 10u);
  EXPECT_EQ(config.runs.max_waiting_bytes_in_all, 11u);
  EXPECT_EQ(config.runs.max_cells, 12u);
  EXPECT_EQ(config.runs.max_journal_bytes, 1u << 30);
  EXPECT_EQ(config.runs.max_stored_bytes, std::uint64_t{1} << 40);
  EXPECT_EQ(config.runs.max_queued, 13u);
  EXPECT_EQ(config.retention.runs, std::chrono::hours(24));
  EXPECT_EQ(config.retention.responses, std::chrono::hours(12));
  EXPECT_EQ(config.retention.sessions, std::chrono::hours(24 * 36'500));
  EXPECT_EQ(config.retention.checkpoints, std::chrono::hours(72));
  EXPECT_EQ(config.audit.file, "audit.jsonl");
  EXPECT_EQ(config.identity.keys.at(0).value.environment, "ANN_KEY");
  EXPECT_THAT(config.engine.native_packages, ElementsAre("numpy", "pandas"));
  EXPECT_EQ(config.engine.tier, "landlock");
  EXPECT_FALSE(config.engine.prepare_cells);
  EXPECT_EQ(config.engine.owners_per_worker, EngineConfig::OwnersPerWorker::kOne);
  EXPECT_EQ(config.python.prefix, "venv");
  EXPECT_EQ(config.worker.keep, "kept");
  EXPECT_EQ(config.limits.wall_time, std::chrono::milliseconds(2500));
  EXPECT_EQ(config.limits.memory_bytes, 1u << 20);
  EXPECT_EQ(config.mounts.at(0).mode, MountMode::kReadOnly);
  const ToolConfig& send = config.tools.at(0);
  EXPECT_THAT(send.command.command, ElementsAre("./send.py", "-v"));
  EXPECT_EQ(send.approval.mode, ApprovalConfig::Mode::kAlways);
  EXPECT_EQ(send.timeout, std::chrono::seconds(3));
  EXPECT_EQ(send.max_calls, 5u);
  EXPECT_THAT(send.command.env, ElementsAre(Pair("MODE", "live")));
  // In the order of the file, which is the order of the arguments.
  EXPECT_EQ(
      *ToJson(*send.input_schema),
      R"({"type":"object","properties":{"to":{"type":"string"},"body":{"type":"string"}},"required":["to"]})");
  const ToolConfig& fetch = config.tools.at(1);
  EXPECT_EQ(fetch.approval.mode, ApprovalConfig::Mode::kUnless);
  EXPECT_EQ(fetch.http.rules.at(0).headers.at(0).value.file, "token");
  EXPECT_EQ(fetch.http.calls_per_minute, 60u);
  EXPECT_EQ(config.upstreams.at(1).bearer.environment, "SEARCH");
  EXPECT_EQ(config.upstreams.at(1).certificates, "ca.pem");
  EXPECT_EQ(config.upstreams.at(1).longest, std::chrono::seconds(90));
  EXPECT_EQ(config.upstreams.at(0).prefix, "fs_");
  EXPECT_EQ(config.upstreams.at(0).ask, std::vector<std::string>{"write_file"});
  EXPECT_TRUE(config.upstreams.at(0).trust_read_only);
  EXPECT_EQ(config.upstreams.at(0).timeout, std::chrono::seconds(5));
}

TEST(ConfigTest, UnknownKeysAreErrorsWithALine) {
  EXPECT_EQ(Mistakes("[server]\nlisen = \"x\"\n"),
            "caisson.toml:2: server.lisen is not known; did you mean \"listen\"?");
  EXPECT_EQ(Mistakes("\n[servr]\n"),
            "caisson.toml:2: servr is not known; did you mean \"server\"?");
  EXPECT_THAT(
      Mistakes("[[tool]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"x\"]\ntimeout = 3\n"),
      HasSubstr("caisson.toml:5: tool[0].timeout is not known"));
  EXPECT_THAT(Mistakes("[limits]\nwall_secs = 3\n"),
              HasSubstr("caisson.toml:2: limits: there is no limit"));
  EXPECT_THAT(Mistakes("[policy]\nallow_import = [\"a\"]\n"), HasSubstr("allow_import"));
}

TEST(ConfigTest, AllMistakesComeTogether) {
  const std::string mistakes =
      Mistakes("[server]\nlisten = 1\nx = 2\n[engine]\ndefault = \"fast\"\n");
  EXPECT_THAT(mistakes, HasSubstr("caisson.toml:2: server.listen must be a text"));
  EXPECT_THAT(mistakes, HasSubstr("\ncaisson.toml:3: server.x is not known"));
  EXPECT_THAT(mistakes,
              HasSubstr("\ncaisson.toml:5: engine.default must be one of auto, wasm, native"));
}

TEST(ConfigTest, AMountWithoutAModeIsReadOnly) {
  const Config config = Parse("[[mount]]\nhost = \"data\"\nguest = \"/input\"\n");
  EXPECT_EQ(config.mounts.at(0).mode, MountMode::kReadOnly);
}

TEST(ConfigTest, SecretsAreNotWrittenHere) {
  EXPECT_THAT(Mistakes("[store]\nkeys = \"sk-123\"\n"),
              HasSubstr("store.keys must not be in this file"));
  EXPECT_THAT(
      Mistakes("[identity]\nmode = \"keys\"\n[[identity.key]]\ntenant = \"a\"\nuser = \"b\"\n"),
      HasSubstr("value_env or value_file is needed"));
}

TEST(ConfigTest, ReadsHowTokensSayWho) {
  const Config config = Parse(R"(
[identity]
mode = "jwt"
[identity.jwt]
issuer = "https://id.example"
audience = "caisson"
jwks_file = "keys.json"
tenant_claim = "tid"
leeway_seconds = 5
)");
  EXPECT_EQ(config.identity.jwt.jwks_file, "keys.json");
  EXPECT_EQ(config.identity.jwt.tenant_claim, "tid");
  EXPECT_EQ(config.identity.jwt.user_claim, "sub");
  EXPECT_EQ(config.identity.jwt.leeway, std::chrono::seconds(5));
}

TEST(ConfigTest, ReadsHowProxiesSayWho) {
  const Config config = Parse(R"(
[identity]
mode = "headers"
[identity.headers]
preset = "foundry-v1"
tenant = "x-tenant"
proxies = ["10.0.0.0/8"]
)");
  EXPECT_EQ(config.identity.headers.user, "x-agent-user-isolation-key");
  EXPECT_EQ(config.identity.headers.tenant, "x-tenant");
  EXPECT_THAT(config.identity.headers.proxies, ElementsAre("10.0.0.0/8"));
}

TEST(ConfigTest, IdentityMistakesAreNamed) {
  EXPECT_THAT(Mistakes("[identity]\nmode = \"jwt\"\n"), HasSubstr("identity.jwt is missing"));
  EXPECT_THAT(Mistakes("[identity]\nmode = \"jwt\"\n[identity.jwt]\nissuer = \"i\"\n"),
              AllOf(HasSubstr("audience"), HasSubstr("identity.jwt.jwks_file or")));
  EXPECT_THAT(Mistakes("[identity]\nmode = \"headers\"\n[identity.headers]\nuser = \"x\"\n"),
              HasSubstr("identity.headers.proxies must list"));
  EXPECT_THAT(Mistakes("[identity.headers]\nuser = \"x\"\nproxies = [\"::1\"]\n"),
              HasSubstr("identity.headers does not belong to the chosen identity.mode"));
}

TEST(ConfigTest, TheOperatorsMaximumHoldsForUsualLimitsToo) {
  const Config config = Parse("[limits.max]\nmemory_bytes = 67108864\nwall_seconds = 5\n");
  EXPECT_EQ(config.max_limits.memory_bytes, 64u << 20);
  EXPECT_EQ(config.max_limits.tool_calls, DefaultCeiling().tool_calls);
  EXPECT_EQ(config.limits.memory_bytes, 64u << 20);
  EXPECT_EQ(config.limits.wall_time, std::chrono::seconds(5));
  EXPECT_EQ(config.limits.cpu_time, std::chrono::seconds(10));
  EXPECT_EQ(Parse("").max_limits.memory_bytes, DefaultCeiling().memory_bytes);
}

TEST(ConfigTest, LimitsAboveTheMaximumAreNamedWithTheirLine) {
  EXPECT_THAT(Mistakes("[limits]\nfiles = 3\nmemory_bytes = 99\n[limits.max]\nmemory_bytes = 98\n"),
              HasSubstr(":3: limits: memory_bytes: 99 is not allowed; the maximum is 98 "
                        "(limits.max.memory_bytes)"));
  EXPECT_THAT(Mistakes("[limits.max]\nwall_seconds = 301\n"),
              HasSubstr(":2: limits.max: wall_seconds: 301 is not allowed; the maximum is 300"));
  EXPECT_THAT(Mistakes("[limits.max]\nwall_second = 1\n"), HasSubstr("there is no limit"));
  EXPECT_THAT(Mistakes("[limits]\nmax = 1\n"), HasSubstr(":2: limits.max must be a table"));
}

TEST(ConfigTest, RefusesInvalidValues) {
  for (const std::string_view text :
       {"server = 1",
        "[server]\nproxies = [\"proxy.example\"]",
        "[server]\nmax_connections = 0",
        "[[server]]",
        "[tool]",
        "tool = [1]",
        "[limits]\nwall_seconds = 0",
        "[limits]\nwall_seconds = -1",
        "[limits]\nwall_seconds = nan",
        "[limits]\nwall_seconds = \"3\"",
        "[store]\nurl = \"mysql://x\"",
        "[identity]\nmode = \"keys\"",
        "[runs]\nmax_parked = 0",
        "[runs]\nlease_seconds = 0.9",
        "[runs]\nlease_seconds = 601",
        "[runs]\nmax_waiting = -1",
        "[runs]\nmax_journal_bytes = 0",
        "[runs]\nmax_journal_bytes = -1",
        "[runs]\nmax_journal_bytes = 1073741825",
        "[runs]\nmax_stored_bytes = 0",
        "[runs]\nmax_stored_bytes = -1",
        "[runs]\nmax_stored_bytes = 1099511627777",
        "[retention]\nruns_days = 0",
        "[retention]\nruns_days = 36501",
        "[[mount]]\nhost = \"a\"",
        "[[mount]]\nhost = \"a\"\nguest = \"/b\"\nmode = \"readwrite\"",
        "[[tool]]\nname = \"a\"\nkind = \"command\"",
        "[[tool]]\nname = \"a\"\nkind = \"other\"",
        "[[tool]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"x\"]\nmax_calls = 0",
        "[[tool]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"x\"]\napproval = {}",
        "[[tool]]\nname = \"a\"\nkind = \"command\"\ncommand = [\"x\"]\ninput_schema = { x = "
        "1979-05-27 }",
        "[[upstream]]\nname = \"a\"",
        "[[upstream]]\nname = \"a\"\nurl = \"x\"\ncommand = [\"y\"]",
        "[[upstream]]\nname = \"a\"\ncommand = [\"y\"]\ncertificates = \"ca.pem\"",
        "[[upstream]]\nname = \"a\"\nurl = \"x\"\ntimeout_seconds = 9\nlongest_seconds = 8",
        "[server]\nlisten = \"a\"\nlisten = \"b\"",
        "x = ",
        "\xff"}) {
    EXPECT_NE(Mistakes(text), "") << text;
  }
}

TEST(ConfigTest, LoadsAFileAndRemembersWhereItWas) {
  const std::string path = ::testing::TempDir() + "/config_test.toml";
  std::ofstream(path) << "[server]\nlisten = \"127.0.0.1:1\"\n";
  const auto config = LoadConfig(path);
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->server.listen, "127.0.0.1:1");
  EXPECT_EQ(config->directory, std::filesystem::path(path).parent_path());
  EXPECT_FALSE(LoadConfig("/no/such/file.toml"));
  EXPECT_FALSE(LoadConfig("/"));
}

}  // namespace
}  // namespace caisson
