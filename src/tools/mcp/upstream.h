// An Upstream is another MCP server whose tools code can call: this is "code mode", where a model sees one tool and
// writes code against many.
//
//   auto upstream = Upstream::Make({.name = "files", .argv = {"npx", "-y", "..."}}, resources);
//   auto opened = co_await upstream->Open();                 // it has told its tools
//   auto tools = upstream->ToolsFor(session);                // as they are now, for code of that session
//   ...
//   upstream->Close();
//
// Each session that calls has an instance of the server to itself, with that session's variables in its environment (I1,
// I2): started when it is first used, ended when it has been idle. One more, which acts for nobody, tells everybody's
// tools; it serves calls only if the operator says that instances may be shared.
//
// Trust     The server may be hostile: it harms the calls of its own session only, and what it says of its tools to one
//           session is not believed for another. Names become Python names, schemas that do not compile lose their tool,
//           results are values of JSON. A tool whose definition has changed since the run began is not called (I5): what
//           was approved is not what would be done.
// Threads   Any.
// Lifetime  Outlives nobody: tools that are called after it has gone fail. Close() must be called before `io` stops.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
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
#include "tools/mcp/upstream_instance.h"
#include "tools/tool.h"

namespace caisson {

enum class Sharing { kEachSession, kShared };

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
  Sharing sharing = Sharing::kEachSession;
  std::size_t max_instances = 64;  // Of sessions, at once.
  std::chrono::nanoseconds idle = std::chrono::minutes(10);
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  std::chrono::nanoseconds longest =
      std::chrono::minutes(10);  // With progress, which gives it time anew.
};

struct UpstreamResources {
  asio::any_io_executor io;
  SessionHost* host = nullptr;
  std::shared_ptr<const HttpClient> http{};  // For those with a URL.
  std::function<void(std::string_view text)> log{};
  std::function<void()> on_change{};  // When ToolsFor may say something else; from any thread.
};

using UpstreamTools = std::vector<std::shared_ptr<const Tool>>;

class Upstream : public std::enable_shared_from_this<Upstream> {
 public:
  static std::shared_ptr<Upstream> Make(UpstreamSpec spec, UpstreamResources resources);

  // Returns when the server has told its tools. One that has not is asked again by and by.
  asio::awaitable<Result<void>> Open();
  // What the server last said, to this session if it has an instance; the same pointer for the same tools. Null: nobody
  // in particular.
  std::shared_ptr<const UpstreamTools> ToolsFor(const SessionContext* session);
  void Close();

 private:
  // An instance in its place, with those who use it.
  struct Place {
    std::shared_ptr<UpstreamInstance> instance;
    asio::steady_timer idle;
    std::size_t calls = 0;
    std::chrono::steady_clock::time_point used{};
    UpstreamDefinitions definitions{};
    std::shared_ptr<const UpstreamTools> tools{};
  };
  struct State {
    bool closed = false;
    std::map<std::string, Place> places;  // By environment; under "" the one that acts for nobody.
  };
  class Use;

  Upstream(UpstreamSpec spec, UpstreamResources resources);

  // The environment of the instance that serves the session; nothing: the one that acts for nobody does.
  Result<std::optional<ChildEnvironment>> EnvironmentFor(const SessionContext* session) const;
  Result<std::shared_ptr<Use>> Enter(const std::optional<ChildEnvironment>& environment);
  Place MakePlace(const std::string& key, const std::optional<ChildEnvironment>& environment);
  Result<std::shared_ptr<UpstreamLink>> Connect(const std::optional<ChildEnvironment>& environment,
                                                OnListChanged on_list_changed) const;
  void Leave(const std::string& key);
  void Expire(const std::string& key);
  void OnListed(const std::string& key, const UpstreamDefinitions& definitions);

  bool IsWanted(const std::string& tool) const;
  Approval ApprovalOf(const std::string& tool, const Dict& definition) const;
  std::shared_ptr<const UpstreamTools> MakeTools(const UpstreamDefinitions& definitions);
  Result<std::shared_ptr<const Tool>> MakeTool(const std::string& name,
                                               const std::string& definition);
  static asio::awaitable<ToolAnswer> Call(std::weak_ptr<Upstream> upstream, std::string tool,
                                          std::string definition, Dict arguments, CallContext call);

  const UpstreamSpec spec_;
  const UpstreamResources resources_;
  const std::string origin_;  // What is started or spoken to: part of what a tool is.
  Guarded<State> state_;
};

}  // namespace caisson
