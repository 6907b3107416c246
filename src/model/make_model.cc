#include "model/make_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/demo_model.h"
#include "model/dialect.h"
#include "model/remote_model.h"
#include "model/stream_reader.h"

namespace caisson::model {
namespace {

constexpr std::array<std::pair<std::string_view, ModelKind>, 4> kKinds = {{
    {"openai-chat", ModelKind::kOpenAiChat},
    {"openai-responses", ModelKind::kOpenAiResponses},
    {"anthropic", ModelKind::kAnthropic},
    {"demo", ModelKind::kDemo},
}};

constexpr std::uint32_t kMaxAttempts = 10;
constexpr std::size_t kMaxReplyBytes = 64u << 20;
constexpr std::array<std::string_view, 6> kOwnHeaders = {
    "host", "content-length", "transfer-encoding", "connection", "accept-encoding", "te"};

Error Wrong(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

std::string_view UsualBaseUrl(ModelKind kind) {
  return kind == ModelKind::kAnthropic ? "https://api.anthropic.com/v1"
                                       : "https://api.openai.com/v1";
}

bool IsOpenAi(std::string_view host) {
  return host == "api.openai.com" || host.ends_with(".openai.azure.com");
}

std::unique_ptr<Dialect> MakeDialect(ModelKind kind, DialectSettings settings) {
  if (kind == ModelKind::kAnthropic) return MakeAnthropic(std::move(settings));
  if (kind == ModelKind::kOpenAiResponses) return MakeOpenAiResponses(std::move(settings));
  return MakeOpenAiChat(std::move(settings));
}

// The values of headers may be secrets, so errors do not repeat them.
Result<void> CheckHeaders(const ModelOptions& options) {
  if (!IsHeaderValue(options.key)) {
    return Wrong("the key has a character that no HTTP header can have, such as a line end");
  }
  for (const auto& [name, value] : options.headers) {
    if (!IsHeaderName(name) || !IsHeaderValue(value)) {
      return Wrong("the header \"" + name + "\" has an invalid name or value");
    }
    const std::string folded = FoldedHeaderName(name);
    if (std::ranges::find(kOwnHeaders, folded) != kOwnHeaders.end()) {
      return Wrong("the header \"" + name + "\" cannot be set: it belongs to the connection");
    }
  }
  return {};
}

Result<void> Check(const ModelOptions& options) {
  if (options.model.empty()) return Wrong("model is missing: the name of the model on the server");
  if (!options.resolver) return Wrong("a resolver is missing");
  if (options.attempts < 1 || options.attempts > kMaxAttempts) {
    return Wrong("attempts must be from 1 to " + std::to_string(kMaxAttempts));
  }
  if (options.max_reply_bytes < 1 || options.max_reply_bytes > kMaxReplyBytes) {
    return Wrong("max_reply_bytes must be from 1 to " + std::to_string(kMaxReplyBytes));
  }
  const ModelTimes& times = options.times;
  for (const auto time : {times.connect, times.first_byte, times.idle, times.total}) {
    if (time.count() <= 0) return Wrong("the time limits of a model must be more than zero");
  }
  return CheckHeaders(options);
}

}  // namespace

Result<ModelKind> ParseModelKind(std::string_view name) {
  std::string names;
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
    names.append(names.empty() ? "" : ", ").append(known);
  }
  return Wrong("kind \"" + std::string(name) + "\" is unknown; use one of " + names);
}

Result<std::shared_ptr<Model>> MakeModel(ModelOptions options) {
  const ModelKind kind = options.kind;
  if (kind == ModelKind::kDemo) {
    return std::shared_ptr<Model>(std::make_shared<DemoModel>(options.demo_pause));
  }
  TRY(Check(options));
  if (options.base_url.empty()) options.base_url = UsualBaseUrl(kind);
  auto base = ParseHttpUrl(options.base_url);
  if (!base) return std::move(base).error().Context("base_url");
  while (base->path.ends_with('/')) base->path.pop_back();
  const ModelTimes& times = options.times;
  TRY_ASSIGN(
      auto client,
      HttpClient::Make(
          {.resolver = options.resolver,
           .times = {.connect = times.connect, .first_byte = times.first_byte, .idle = times.idle},
           .proxy = options.proxy,
           .max_response_bytes = options.max_reply_bytes * kStreamFactor,
           .certificates = options.certificates}));
  auto dialect = MakeDialect(kind, {.model = options.model,
                                    .streams = options.streaming == ModelOptions::Streaming::kOn,
                                    .is_openai = IsOpenAi(base->host)});
  return std::shared_ptr<Model>(std::make_shared<RemoteModel>(
      std::move(options), *std::move(base), std::move(dialect), std::move(client)));
}

}  // namespace caisson::model
