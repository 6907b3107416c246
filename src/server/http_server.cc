#include "server/http_server.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/run_on.h"
#include "base/spawn.h"
#include "net/endpoint.h"
#include "net/server.h"
#include "server/configured_identity.h"
#include "server/configured_workflows.h"
#include "server/door_limits.h"
#include "server/doors.h"
#include "server/foundry.h"
#include "server/host.h"
#include "server/store_sweeper.h"
#include "server/version.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace caisson {
namespace {

constexpr std::chrono::nanoseconds kUsualDrain = std::chrono::seconds(10);

// /readyz fails for this long after a write has failed.
constexpr std::chrono::seconds kRecentFailure{3};
// /readyz writes to the store unless there was another write within this time.
constexpr std::chrono::seconds kFreshWrite{1};

std::size_t ThreadCount() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 4, 2, 8);
}

Result<asio::ip::tcp::endpoint> CheckedEndpoint(const Config& config) {
  TRY_ASSIGN(const auto endpoint, net::ParseEndpoint(config.server.listen));
  if (config.identity.mode == IdentityMode::kLocal && !endpoint.address().is_loopback()) {
    return Error(
        ErrorCode::kInvalidArgument,
        "cannot listen on " + config.server.listen +
            ": in identity mode \"local\" everybody is the same user, so only this machine "
            "is served; choose mode \"keys\", \"jwt\" or \"headers\"");
  }
  return endpoint;
}

net::AccessRules AccessOf(const Config& config) {
  net::AccessRules rules = config.identity.mode == IdentityMode::kLocal
                               ? net::AccessRules::LoopbackOnly()
                               : net::AccessRules();
  rules.hosts.insert(rules.hosts.end(), config.server.hosts.begin(), config.server.hosts.end());
  rules.origins = config.server.origins;
  return rules;
}

net::Response PlainText(int status, std::string text) {
  return {.status = status,
          .headers = {{.name = "Content-Type", .value = "text/plain; charset=utf-8"}},
          .body = std::move(text)};
}

}  // namespace

// Members use those above them, so they are destroyed in reverse order.
class HttpServer::Parts {
 public:
  explicit Parts(HttpServerOptions options)
      : options_(std::move(options)),
        log_(
            clock_, Log::Level::kWarning,
            options_.log ? std::move(options_.log) : [](std::string_view) {}),
        metrics_({{.name = "caisson_build_info", .help = "Which Caisson this is."},
                  {.name = "caisson_http_requests_total", .help = "Requests answered."},
                  {.name = "caisson_http_request_seconds", .help = "From head to answer."}}) {
    metrics_.Count("caisson_build_info", {{"version", std::string(Version())}});
  }

  ~Parts() {
    if (host_ && !closed_) Run(host_->Close());
  }

  Result<void> Open() {
    TRY_ASSIGN(foundry_, ReadFoundryHosting(options_.environment));
    if (foundry_) TRY(ServeFoundry(*foundry_, options_.config));
    const Config& config = options_.config;
    TRY_ASSIGN(const auto endpoint, CheckedEndpoint(config));
    TRY_ASSIGN(door_limits_, DoorLimits(config));
    TRY_ASSIGN(identity_, MakeIdentityResolver(config.identity, config.directory,
                                               options_.environment, clock_));
    TRY_ASSIGN(Workflows workflows, LoadWorkflows(config));
    CodeServiceOptions code = FromConfig(config);
    code.backend.installation = options_.installation;
    code.setting.tools = std::make_shared<const ToolSet>(options_.tools);
    code.log = [this](std::string_view text) {
      log_.Write(Log::Level::kWarning, "tool.stderr", {{"text", text}});
    };
    code.backend.on_worker_lost = [this](const std::string& why) {
      log_.Write(Log::Level::kError, "worker.lost", {{"message", why}});
    };
    const auto on_audit_failure = [this](std::string_view what) {
      log_.Write(Log::Level::kError, "audit.failure", {{"message", what}});
    };
    TRY_ASSIGN(host_, Host::Open({.config = config,
                                  .code = std::move(code),
                                  .environment = options_.environment,
                                  .executor = io_.get_executor(),
                                  .on_audit_failure = on_audit_failure,
                                  .serves = HostOptions::Serves::kRunsAndAgents}));
    workflows_.emplace(*host_, std::move(workflows));
    store().health().Listen([this](const std::optional<Error>& problem) {
      if (problem) {
        log_.Write(Log::Level::kError, "store.failure", {{"message", problem->message()}});
      } else {
        log_.Write(Log::Level::kWarning, "store.recovery", {{"message", "writing works again"}});
      }
    });
    TRY_ASSIGN(server_, net::Server::Listen(io_.get_executor(), endpoint, Routes(), DoorOptions()));
    return {};
  }

  std::string url() const { return "http://" + net::ToText(server_->endpoint()); }

  void Serve() {
    auto work = asio::make_work_guard(io_);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < ThreadCount(); ++i) {
      threads.emplace_back([this, name = "caisson-io" + std::to_string(i)] {
        ::pthread_setname_np(::pthread_self(), name.c_str());
        io_.run();
      });
    }
    host_->Tend();
    const StoreSweeper sweeper(
        store(), clock_,
        {.retention = host_->state().retention(), .log = [this](std::string_view what) {
           log_.Write(Log::Level::kError, "sweep.failure", {{"message", what}});
         }});
    ready_ = true;  // From here on, each response is true.
    server_->Start();
    stop_.get_future().wait();
    ready_ = false;
    WaitFor(asio::make_strand(io_), Close());
    closed_ = true;
    work.reset();
    for (std::thread& thread : threads) thread.join();
  }

  void Stop() {
    if (!stopping_.exchange(true)) stop_.set_value();
  }

 private:
  Store& store() { return host_->state().store(); }

  void Run(asio::awaitable<void> last_work) {
    auto done = SpawnFuture(io_.get_executor(), std::move(last_work));
    io_.restart();
    io_.run();
    done.get();
  }

  // Requests may wait for runs, and runs may wait without end. When the time is over, the remaining
  // runs are parked or ended, which ends their requests.
  asio::awaitable<void> Close() {
    const auto drain = options_.config.server.drain.value_or(kUsualDrain);
    asio::steady_timer time(co_await asio::this_coro::executor, drain);
    doors_->Close();
    const auto doors = [&]() -> asio::awaitable<void> {
      co_await server_->Close(drain);
      time.cancel();
    };
    const auto runs = [&]() -> asio::awaitable<void> {
      co_await time.async_wait(asio::as_tuple(asio::use_awaitable));
      co_await host_->Close();
    };
    co_await Both(doors(), runs());
    co_await workflows_->AwaitEnd();
    co_await doors_->AwaitEnd();
  }

  net::Router Routes() {
    net::Router router;
    doors_.emplace(DoorResources{.config = options_.config,
                                 .host = *host_,
                                 .turns = workflows_->turns(),
                                 .identity = *identity_,
                                 .clock = clock_,
                                 .io = io_.get_executor(),
                                 .foundry = foundry_,
                                 .add_mcp_features = options_.add_mcp_features});
    doors_->Mount(router);
    const auto get = [&](const char* path, std::function<asio::awaitable<net::Response>()> answer) {
      router.Add("GET", path,
                 net::Answering([answer = std::move(answer)](net::Request) { return answer(); }),
                 {.capacity = net::Capacity::kReserved});
    };
    get("/healthz", []() -> asio::awaitable<net::Response> { co_return PlainText(200, "ok\n"); });
    get("/readyz", [this] { return Ready(); });
    get("/readiness", [this] { return Ready(); });
    get("/metrics",
        [this]() -> asio::awaitable<net::Response> { co_return PlainText(200, metrics_.Text()); });
    return router;
  }

  asio::awaitable<net::Response> Ready() {
    if (!ready_) co_return PlainText(503, "stopping\n");
    StoreHealth& health = store().health();
    Result<void> written;
    if (!health.WrittenWithin(kFreshWrite)) {
      written = co_await store().maintenance().CheckWritable();
    }
    if (!written) co_return PlainText(503, "not ready: " + written.error().message() + "\n");
    if (const auto failure = health.FailedWithin(kRecentFailure)) {
      co_return PlainText(503, "not ready: " + failure->message() + "\n");
    }
    if (health.waiting() > 0) {
      co_return PlainText(503, "not ready: runs wait until the store can be written\n");
    }
    co_return PlainText(200, "ready\n");
  }

  net::ServerOptions DoorOptions() {
    net::ServerOptions options{.access = AccessOf(options_.config), .connections = door_limits_};
    options.on_served = [this](const net::Served& served) { OnServed(served); };
    return options;
  }

  void OnServed(const net::Served& served) {
    // The method of a request without a route is any text that the client chose.
    const bool routed = !served.route.empty();
    metrics_.Count("caisson_http_requests_total", {{"method", routed ? served.method : ""},
                                                   {"route", served.route},
                                                   {"status", std::to_string(served.status)}});
    if (routed) {
      metrics_.Time("caisson_http_request_seconds", {{"route", served.route}}, served.time);
    }
    if (served.failure.empty()) return;
    log_.Write(Log::Level::kError, "http.failure",
               {{"method", served.method},
                {"route", served.route},
                {"instance", served.instance},
                {"message", served.failure}});
  }

  HttpServerOptions options_;
  const SystemClock clock_;
  Log log_;
  Metrics metrics_;
  net::ConnectionLimits door_limits_;
  asio::io_context io_;
  std::optional<FoundryHosting> foundry_;
  std::unique_ptr<IdentityResolver> identity_;
  std::unique_ptr<Host> host_;
  std::optional<WorkflowHost> workflows_;
  std::optional<Doors> doors_;
  std::unique_ptr<net::Server> server_;
  std::atomic<bool> ready_ = false;
  std::atomic<bool> stopping_ = false;
  std::promise<void> stop_;
  bool closed_ = false;
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Open(HttpServerOptions options) {
  auto parts = std::make_unique<Parts>(std::move(options));
  TRY(parts->Open());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

std::string HttpServer::url() const {
  return parts_->url();
}

void HttpServer::Serve() {
  parts_->Serve();
}

void HttpServer::Stop() {
  parts_->Stop();
}

}  // namespace caisson
