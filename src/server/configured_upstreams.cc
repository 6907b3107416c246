#include "server/configured_upstreams.h"

#include <filesystem>
#include <future>
#include <utility>

#include "base/spawn.h"
#include "server/secrets.h"

namespace caisson {
namespace {

using Opened = std::future<Result<void>>;

constexpr std::size_t kMaxAnswerBytes = 8u << 20;

Result<UpstreamSpec> SpecOf(const UpstreamConfig& upstream, const Config& config,
                            const ToolResources& resources) {
  UpstreamSpec spec{.name = upstream.name,
                    .prefix = upstream.prefix,
                    .argv = upstream.command,
                    .directory = config.directory,
                    .allow = upstream.allow,
                    .deny = upstream.deny,
                    .ask = upstream.ask,
                    .trusts_read_only_hint = upstream.trust_read_only,
                    .sharing = upstream.shared ? Sharing::kShared : Sharing::kEachSession};
  TRY_ASSIGN(spec.approval, MakeApproval(upstream.approval));
  if (upstream.timeout) spec.timeout = *upstream.timeout;
  if (upstream.longest) spec.longest = *upstream.longest;
  if (upstream.max_instances) spec.max_instances = *upstream.max_instances;
  if (upstream.idle) spec.idle = *upstream.idle;
  if (!upstream.url.empty()) {
    TRY_ASSIGN(spec.url, ParseHttpUrl(upstream.url));
  }
  const SecretReference& bearer = upstream.bearer;
  if (!bearer.environment.empty() || !bearer.file.empty()) {
    TRY_ASSIGN(spec.bearer,
               FetchSecret(bearer, config.directory, resources.host.start_environment()));
  }
  spec.variables.own = {upstream.env.begin(), upstream.env.end()};
  spec.variables.inherit.insert(spec.variables.inherit.end(), upstream.inherit_env.begin(),
                                upstream.inherit_env.end());
  // A value that no environment can hold is the operator's mistake; report it now.
  TRY(ChildEnvironment::Build(CallerContext(resources.host), spec.variables));
  return spec;
}

// Returns the HTTP client for one server. Servers that use the system's certificate authorities
// share `usual`.
Result<std::shared_ptr<const HttpClient>> ClientFor(const UpstreamConfig& upstream,
                                                    const Config& config,
                                                    const ToolResources& resources,
                                                    std::shared_ptr<const HttpClient> usual) {
  if (upstream.certificates.empty()) return usual;
  TRY_ASSIGN(std::shared_ptr<const HttpClient> own,
             HttpClient::Make({.resolver = SystemResolver(resources.pool),
                               .max_response_bytes = kMaxAnswerBytes,
                               .certificates = std::filesystem::path(config.directory) /
                                               upstream.certificates}));
  return own;
}

}  // namespace

Result<std::vector<std::shared_ptr<Upstream>>> OpenUpstreams(const Config& config,
                                                             const ToolResources& resources) {
  std::vector<std::shared_ptr<Upstream>> upstreams;
  if (config.upstreams.empty()) return upstreams;
  TRY_ASSIGN(std::shared_ptr<const HttpClient> usual,
             HttpClient::Make({.resolver = SystemResolver(resources.pool),
                               .max_response_bytes = kMaxAnswerBytes}));
  // All are checked before the first is started, so that a mistake in one leaves nothing running.
  for (const UpstreamConfig& upstream : config.upstreams) {
    auto spec = SpecOf(upstream, config, resources);
    if (!spec) return std::move(spec).error().Context("[[upstream]] " + upstream.name);
    auto client = ClientFor(upstream, config, resources, usual);
    if (!client) return std::move(client).error().Context("[[upstream]] " + upstream.name);
    upstreams.push_back(Upstream::Make(*std::move(spec), {.io = resources.io,
                                                          .host = &resources.host,
                                                          .http = *std::move(client),
                                                          .log = resources.log,
                                                          .on_change = resources.on_change}));
  }
  std::vector<Opened> opened;
  for (const auto& upstream : upstreams) {
    opened.push_back(SpawnFuture(resources.io, upstream->Open()));
  }
  for (Opened& each : opened) {
    const Result<void> done = each.get();
    if (!done)
      resources.log("caisson: " + done.error().message() +
                    "; its tools are missing until it can be reached\n");
  }
  return upstreams;
}

}  // namespace caisson
