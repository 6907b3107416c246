// MakeModel makes a client of a language model from resolved settings.
//
//   auto model = MakeModel({.kind = ModelKind::kOpenAiChat,
//                           .base_url = "http://127.0.0.1:11434/v1", .model = "llama3.2",
//                           .resolver = SystemResolver(pool)});
//
// Trust     The settings are the operator's. The key goes only to the server of `base_url` and
//           appears in no error and no log.
// Threads   Any.
// Lifetime  The pool of the resolver must run until the model is destroyed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "tools/http/client.h"
#include "tools/http/proxy.h"

namespace caisson::model {

enum class ModelKind {
  kOpenAiChat,       // "openai-chat": Chat Completions; most servers of others speak it too.
  kOpenAiResponses,  // "openai-responses"
  kAnthropic,        // "anthropic": Messages.
  kDemo,             // "demo": demo_model.h, without a server.
};

// Reads the name in a configuration. Fails with kInvalidArgument and lists the names.
Result<ModelKind> ParseModelKind(std::string_view name);

struct ModelTimes {
  std::chrono::milliseconds connect = std::chrono::seconds(10);  // With proxy and TLS.
  // From the request to the first byte of the answer. A model may think long before it answers.
  std::chrono::milliseconds first_byte = std::chrono::minutes(5);
  std::chrono::milliseconds idle = std::chrono::minutes(2);    // Between two bytes.
  std::chrono::milliseconds total = std::chrono::minutes(20);  // With all attempts.
};

struct ModelOptions {
  // kOff: for servers that cannot stream. on_delta then gets each item as a whole.
  enum class Streaming { kOn, kOff };
  // Hosts that may get requests without TLS.
  enum class PlainHttp { kPrivateHosts, kAnyHost };

  ModelKind kind = ModelKind::kDemo;
  // With the version: "https://api.openai.com/v1". Empty: the address of the API's inventor.
  std::string base_url{};
  std::string model{};    // As the server names it. The demo does not need one.
  std::string key{};      // Empty: the server needs none.
  HttpHeaders headers{};  // Sent with each request, besides the API's own.
  Streaming streaming = Streaming::kOn;
  PlainHttp plain_http = PlainHttp::kPrivateHosts;
  std::string certificates{};  // A PEM file to trust instead of the system's.
  ModelTimes times{};
  std::uint32_t attempts = 4;              // The first one and its repetitions; 1 to 10.
  std::size_t max_reply_bytes = 8u << 20;  // At most 64 MiB.
  // Of one reply, if the request has no limit. nullopt: the server's own; 16,384 for `anthropic`.
  std::optional<std::uint64_t> max_output_tokens{};
  std::chrono::milliseconds demo_pause{0};  // Between two pieces of the demo's output.
  std::optional<HttpProxy> proxy{};         // For https URLs; see tools/http/proxy.h.
  Resolver resolver{};                      // Needed except for the demo.
};

// Fails with kInvalidArgument if a setting is missing or wrong, with kFailedPrecondition if the
// certificates cannot be read.
Result<std::shared_ptr<Model>> MakeModel(ModelOptions options);

}  // namespace caisson::model
