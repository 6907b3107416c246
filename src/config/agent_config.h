// The tables [[model]], [[agent]] and [[workflow]] of the configuration file.
//
//   [[model]]  name = "main"  kind = "openai-chat"  model = "gpt-5"  key_env = "OPENAI_API_KEY"
//   [[agent]]  name = "analyst"  model = "main"  instructions = "…"  tools = ["send"]
//
// An agent has only the tools, upstreams and mounts that its table names. Tables for the whole
// server do not reach it, except [policy] and [limits], which are its defaults.
//
// Trust     The operator's own file.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/shared_parts.h"
#include "engine/limits.h"
#include "policy/policy.h"

namespace caisson {

struct ModelConfig {
  enum class Kind { kOpenAiChat, kOpenAiResponses, kAnthropic, kDemo };

  std::string name;
  Kind kind = Kind::kDemo;
  std::string base_url{};      // With the version; empty: the address of the API's inventor.
  std::string model{};         // As the server names it.
  SecretReference key{};       // None: the server needs none.
  std::string certificates{};  // A PEM file of trusted certificate authorities, instead of the
                               // system's.
  bool stream = true;          // false: for servers that cannot stream.
  bool plain_http = false;     // Hosts with a public address may get requests without TLS.
  std::optional<std::chrono::nanoseconds> connect{};     // With proxy and TLS.
  std::optional<std::chrono::nanoseconds> first_byte{};  // From the request to the reply's start.
  std::optional<std::chrono::nanoseconds> idle{};        // Between two bytes.
  std::optional<std::chrono::nanoseconds> total{};       // With all attempts.
  std::optional<std::uint64_t> attempts{};               // The first one and its repetitions.
  std::optional<std::uint64_t> max_output_tokens{};      // Of one reply.
};

struct AgentTurnConfig {
  std::optional<std::uint64_t> iterations{};
  std::optional<std::uint64_t> consecutive_errors{};
  std::optional<std::uint64_t> calls{};
  std::optional<std::uint64_t> tokens{};
  std::optional<std::chrono::nanoseconds> wall{};
};

struct AgentConfig {
  // Which calls of its tools need an approval.
  enum class Approval {
    kTools,   // Those that the tools themselves name.
    kAlways,  // All.
  };

  std::string name;
  std::string description{};
  std::string model;
  std::string instructions{};
  std::string instructions_file{};  // Relative to the file; instead of `instructions`.
  bool code = true;
  std::optional<Policy> policy{};  // nullopt: [policy].
  std::optional<Limits> limits{};  // nullopt: [limits].
  std::vector<std::string> tools{};
  std::vector<std::string> upstreams{};
  std::vector<MountConfig> mounts{};
  Approval approval = Approval::kTools;
  AgentTurnConfig turn{};
};

struct WorkflowConfig {
  std::string name;
  std::string file;  // Relative to the configuration file.
};

}  // namespace caisson
