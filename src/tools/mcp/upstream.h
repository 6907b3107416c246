// An Upstream is another MCP server whose tools code can call: this is "code mode", where a model sees one tool and
// writes code against many.
//
//   auto upstream = Upstream::Make({.name = "files", .argv = {"npx", "-y", "..."}}, resources);
//   auto tools = co_await upstream->Tools();          // as Tools, to be put into a registry
//   ...
//   upstream->Close();
//
// A program is started for each environment that calls would give it, so that sessions that differ never share one
// (I1, I2). It is started again when it has died, after a pause that grows.
//
// Trust     The server may be hostile: it harms its own calls only. Names become Python names, schemas that do not compile
//           lose their tool, results are values of JSON. A tool whose definition has changed since we listed it is not
//           called any more (I5): what was approved is not what would be done.
// Threads   Any.
// Lifetime  Shared by its tools. Close() must be called before `io` stops; then calls fail.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "context/child_environment.h"
#include "tools/http/client.h"
#include "tools/mcp/upstream_link.h"
#include "tools/tool.h"

namespace caisson {

struct UpstreamSpec {
  std::string name;
  std::optional<std::string> prefix{};  // Of the tools' names; nothing: the name and "_".
  std::vector<std::string> argv{};      // Or
  std::optional<HttpUrl> url{};
  std::string bearer{};
  std::string directory{};
  ChildVariables variables{};
  std::vector<std::string> allow{};  // Names as the server has them; none: all
  std::vector<std::string> deny{};   // but these.
  Approval approval = Approval::Never();
  std::vector<std::string> ask{};      // Always of these, whatever they say of themselves.
  bool trusts_read_only_hint = false;  // Otherwise, never of tools that say they only read.
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
};

struct UpstreamResources {
  asio::any_io_executor io;
  SessionHost* host = nullptr;
  std::shared_ptr<const HttpClient> http{};  // For those with a URL.
  std::function<void(std::string_view text)> log{};
};

class Upstream : public std::enable_shared_from_this<Upstream> {
 public:
  static std::shared_ptr<Upstream> Make(UpstreamSpec spec, UpstreamResources resources);

  // Asks the server, once, at the start. What it says later is for the tools to check.
  asio::awaitable<Result<std::vector<std::shared_ptr<const Tool>>>> Tools();
  void Close();

 private:
  struct Instance;
  struct State {
    bool closed = false;
    std::map<std::string, std::shared_ptr<Instance>> instances;  // By environment.
  };

  Upstream(UpstreamSpec spec, UpstreamResources resources)
      : spec_(std::move(spec)), resources_(std::move(resources)) {}

  Result<ChildEnvironment> EnvironmentFor(const CallContext& call) const;
  Result<std::shared_ptr<Instance>> InstanceFor(const ChildEnvironment& environment);
  // Below: on the instance's executor.
  asio::awaitable<Result<void>> Connect(std::shared_ptr<Instance> instance,
                                        ChildEnvironment environment) const;
  asio::awaitable<Result<void>> List(Instance& instance) const;
  asio::awaitable<Result<Dict>> Ask(Instance& instance, std::string method, Dict params) const;
  asio::awaitable<ToolAnswer> Call(std::shared_ptr<Instance> instance, ChildEnvironment environment,
                                   std::string tool, std::string definition, Dict arguments) const;
  bool IsWanted(const std::string& tool) const;
  Approval ApprovalOf(const std::string& tool, const Dict& definition) const;
  Result<std::shared_ptr<const Tool>> MakeTool(const std::string& name,
                                               const std::string& definition);

  const UpstreamSpec spec_;
  const UpstreamResources resources_;
  Guarded<State> state_;
};

}  // namespace caisson
