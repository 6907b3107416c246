#include "bench/http_server_process.h"

#include <charconv>
#include <fstream>
#include <string>
#include <utility>

namespace caisson::bench {

Result<HttpServerProcess> HttpServerProcess::Start(const ServerPlan& plan, std::string_view more) {
  TRY_ASSIGN(ScratchDirectory home, ScratchDirectory::Make());
  const std::string config = home.path() + "/caisson.toml";
  std::ofstream(config) << "[store]\nurl = \"sqlite:runs.db\"\n" << more;
  TRY_ASSIGN(ServerProcess server,
             ServerProcess::Start(plan, {"serve", "--config", config, "--listen", "127.0.0.1:0"},
                                  home.path()));
  TRY_ASSIGN(const std::string line, server.ReadLine());  // "listening on http://127.0.0.1:PORT"
  std::uint16_t port = 0;
  std::from_chars(line.data() + line.rfind(':') + 1, line.data() + line.size(), port);
  if (port == 0) return Error(ErrorCode::kInternal, "the server said \"" + line + "\"");
  return HttpServerProcess(std::move(home), std::move(server), port);
}

}  // namespace caisson::bench
