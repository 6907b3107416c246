// An Upstream is another MCP server whose tools code can call. This is "code mode": a model sees
// one tool and writes code against many.
//
//   auto upstream = Upstream::Make({.name = "files", .argv = {"npx", "-y", "..."}}, resources);
//   auto opened = co_await upstream->Open();                 // it has listed its tools
//   auto tools = upstream->ToolsFor(caller);                 // for code of that caller
//   ...
//   upstream->Close();
//
// Each calling session has its own instance of the server, with that session's variables in its
// environment (I1, I2). It starts on first use and ends when idle. If there are too many, an idle
// one of the user with the most instances ends. One user's calls can use half of them. One more
// instance, without a session, lists the tools for all; it serves calls only if the operator allows
// sharing.
//
// Trust     The server may be hostile: it can harm only the calls of its own session, and its tool
//           list for one session is not used for another. Names become Python names, tools with
//           invalid schemas are dropped, results are JSON values. A tool whose definition has
//           changed since the run began is not called (I5), because the approved call would be a
//           different one.
// Threads   Any.
// Lifetime  Tools that are called after it is destroyed fail. Close() must be called before `io`
//           stops.
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
#include "caller/child_environment.h"
#include "tools/http/client.h"
#include "tools/mcp/upstream_instance.h"
#include "tools/tool.h"

namespace caisson {

enum class Sharing { kEachSession, kShared };

struct UpstreamSpec {
  std::string name;
  std::optional<std::string> prefix{};  // Prefix of the tools' names; nullopt: the name and "_".
  std::vector<std::string> argv{};      // Or
  std::optional<HttpUrl> url{};
  std::string bearer{};
  std::string directory{};
  ChildVariables variables{};
  std::vector<std::string> allow{};  // Original names; empty: all
  std::vector<std::string> deny{};   // except these.
  Approval approval = Approval::Never();
  // Always ask for these, even if they declare themselves read-only.
  std::vector<std::string> ask{};
  // Otherwise, never ask for tools that declare themselves read-only.
  bool trusts_read_only_hint = false;
  Sharing sharing = Sharing::kEachSession;
  std::size_t max_instances = 64;  // For sessions, at the same time.
  std::chrono::nanoseconds idle = std::chrono::minutes(10);
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  std::chrono::nanoseconds longest =
      std::chrono::minutes(10);  // Total with progress, which restarts the timeout.
};

struct UpstreamResources {
  asio::any_io_executor io;
  CallerHost* host = nullptr;
  std::shared_ptr<const HttpClient> http{};  // For upstreams with a URL.
  std::function<void(std::string_view text)> log{};
  // Called from any thread when the result of ToolsFor may have changed.
  std::function<void()> on_change{};
};

using UpstreamTools = std::vector<std::shared_ptr<const Tool>>;

class Upstream : public std::enable_shared_from_this<Upstream> {
 public:
  static std::shared_ptr<Upstream> Make(UpstreamSpec spec, UpstreamResources resources);

  // Returns when the server has listed its tools. If it has not, it is asked again later.
  asio::awaitable<Result<void>> Open();
  // Returns the server's latest tools, for this session if it has an instance. Returns the same
  // pointer for the same tools. `caller` null: no caller.
  std::shared_ptr<const UpstreamTools> ToolsFor(const CallerContext* caller);
  void Close();

 private:
  // An instance and its number of users.
  struct Place {
    std::shared_ptr<UpstreamInstance> instance;
    std::string user;  // Whose it is; a user can have several.
    asio::steady_timer idle;
    std::size_t calls = 0;
    std::chrono::steady_clock::time_point used{};
    UpstreamDefinitions definitions{};
    std::shared_ptr<const UpstreamTools> tools{};
  };
  struct State {
    bool closed = false;
    std::map<std::string, Place> places;  // By environment; "" is the instance without a session.
  };
  class Use;

  Upstream(UpstreamSpec spec, UpstreamResources resources);

  // Returns the environment of the session's instance; nullopt: the instance without a session
  // serves it.
  Result<std::optional<ChildEnvironment>> EnvironmentFor(const CallerContext* caller) const;
  Result<std::shared_ptr<Use>> Enter(const std::optional<ChildEnvironment>& environment,
                                     const std::string& user);
  // Makes room for one more instance of this user. Returns the instance that must end, or null.
  Result<std::shared_ptr<UpstreamInstance>> MakeRoom(State& state, const std::string& user) const;
  Place MakePlace(const std::string& key, const std::optional<ChildEnvironment>& environment,
                  const std::string& user);
  Result<std::shared_ptr<UpstreamLink>> Connect(const std::optional<ChildEnvironment>& environment,
                                                OnListChanged on_list_changed) const;
  void Leave(const std::string& key);
  void Expire(const std::string& key);
  void OnListed(const std::string& key, const UpstreamDefinitions& definitions);

  bool IsWanted(const std::string& tool) const;
  Approval ApprovalOf(const std::string& tool, const Dict& definition) const;
  std::shared_ptr<const UpstreamTools> MakeTools(const UpstreamDefinitions& definitions);
  Result<std::shared_ptr<const Tool>> MakeTool(const std::string& name,
                                               const UpstreamDefinition& definition);
  static asio::awaitable<ToolAnswer> Call(std::weak_ptr<Upstream> upstream, std::string tool,
                                          std::string definition, Dict arguments, CallContext call);

  const UpstreamSpec spec_;
  const UpstreamResources resources_;
  const std::string origin_;  // The program or URL; part of a tool's identity.
  Guarded<State> state_;
};

}  // namespace caisson
