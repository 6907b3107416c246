// A server with the fixtures that MCP's conformance suite expects, and a store in memory.
//
//   fixture_server INSTALLATION [TIER]
//
// Prints its address as `caisson serve` does. SIGTERM ends it.
#include <signal.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "caller/caller_context.h"
#include "config/config.h"
#include "server/http_server.h"
#include "tests/conformance/fixtures.h"

namespace caisson {
namespace {

int Serve(std::string installation, const std::string& tier) {
  // Blocked in every thread, so that only sigwait below takes it.
  sigset_t terminated;
  ::sigemptyset(&terminated);
  ::sigaddset(&terminated, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &terminated, nullptr);

  HttpServerOptions options{
      .installation = std::move(installation),
      .environment = CaptureEnvironment(),
      .log = [](std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); },
      .add_mcp_features = mcp::AddConformanceFixtures};
  options.config.server.listen = "127.0.0.1:0";
  options.config.store.url = "memory:";
  if (!tier.empty()) options.config.engine.tier = tier;
  auto server = HttpServer::Open(std::move(options));
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message().c_str());
    return 1;
  }
  std::printf("listening on %s\n", (*server)->url().c_str());
  std::fflush(stdout);
  std::jthread stopper([&] {
    int signal = 0;
    ::sigwait(&terminated, &signal);
    (*server)->Stop();
  });
  (*server)->Serve();
  return 0;
}

}  // namespace
}  // namespace caisson

int main(int argc, char** argv) {
  return caisson::Serve(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
}
