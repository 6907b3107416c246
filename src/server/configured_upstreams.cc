#include "server/configured_upstreams.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "base/run_on.h"
#include "server/secrets.h"

namespace caisson {
namespace {

// Programs that are fetched when they are first used take their time.
constexpr std::chrono::seconds kPatience{60};

using Listed = std::future<std::optional<Result<std::vector<std::shared_ptr<const Tool>>>>>;

Result<UpstreamSpec> SpecOf(const UpstreamConfig& upstream, const Config& config,
                            const ToolResources& resources) {
  UpstreamSpec spec{.name = upstream.name,
                    .prefix = upstream.prefix,
                    .argv = upstream.command,
                    .directory = config.directory,
                    .allow = upstream.allow,
                    .deny = upstream.deny,
                    .ask = upstream.ask,
                    .trusts_read_only_hint = upstream.trust_read_only};
  TRY_ASSIGN(spec.approval, MakeApproval(upstream.approval));
  if (upstream.timeout) spec.timeout = *upstream.timeout;
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
  // What no environment can hold is the operator's mistake, to be told now.
  TRY(ChildEnvironment::Build(SessionContext(resources.host), spec.variables));
  return spec;
}

}  // namespace

Result<OpenedUpstreams> OpenUpstreams(const Config& config, const ToolResources& resources) {
  OpenedUpstreams opened;
  if (config.upstreams.empty()) return opened;
  TRY_ASSIGN(std::shared_ptr<const HttpClient> http,
             HttpClient::Make(
                 {.resolver = SystemResolver(resources.pool), .max_response_bytes = 8u << 20}));
  // All are looked at before the first is started: a mistake in one leaves nothing running.
  std::vector<UpstreamSpec> specs;
  for (const UpstreamConfig& upstream : config.upstreams) {
    auto spec = SpecOf(upstream, config, resources);
    if (!spec) return std::move(spec).error().Context("[[upstream]] " + upstream.name);
    specs.push_back(*std::move(spec));
  }
  std::vector<Listed> listed;
  for (UpstreamSpec& spec : specs) {
    opened.upstreams.push_back(Upstream::Make(
        std::move(spec),
        {.io = resources.io, .host = &resources.host, .http = http, .log = resources.log}));
    listed.push_back(asio::co_spawn(resources.io, AsOptional(opened.upstreams.back()->Tools()),
                                    asio::use_future));
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (listed[i].wait_until(deadline) != std::future_status::ready) opened.upstreams[i]->Close();
    auto tools = *listed[i].get();
    if (tools) {
      opened.tools.insert(opened.tools.end(), tools->begin(), tools->end());
    } else {
      resources.log("caisson: " + tools.error().message() + "; its tools are not there\n");
    }
  }
  return opened;
}

}  // namespace caisson
