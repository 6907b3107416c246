// An UpstreamInstance is one MCP server, shared by its users. It connects on first use and
// reconnects after the server has died, with a growing pause.
//
//   auto instance = std::make_shared<UpstreamInstance>(
//       io, {.name = "files", .connect = ..., .on_listed = ...});
//   ToolAnswer answer = co_await instance->Call("read", definition, arguments, on_progress);
//
// It speaks both eras of MCP. A program is first asked in the legacy one, which nearly all support
// and the others refuse; a URL in the modern one, which needs no session.
//
// Trust     Same as UpstreamLink. A tool is called only if the server still defines it as the
//           caller was shown (I5).
// Threads   Any; its own state is used on its strand only.
// Lifetime  Shared by its table and the current calls. Close() ends them and its background work.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "tools/mcp/upstream_link.h"

namespace caisson {

// A tool as its server defines it.
struct UpstreamDefinition {
  // JSON with the members in the server's order, which is the order of the tool's parameters.
  std::string text;
  // The same in canonical JSON. A server may write the members of an unchanged tool in another
  // order each time.
  std::string canonical;
  bool operator==(const UpstreamDefinition& other) const { return canonical == other.canonical; }
};
// By their original names.
using UpstreamDefinitions = std::map<std::string, UpstreamDefinition>;

enum class FirstEra { kLegacy, kModern };

struct UpstreamInstanceOptions {
  std::string name;
  std::function<Result<std::shared_ptr<UpstreamLink>>(OnListChanged)> connect{};
  // Called on the instance's strand each time the server has listed its tools.
  std::function<void(const UpstreamDefinitions&)> on_listed{};
  FirstEra first_era = FirstEra::kLegacy;
  // How long a list is valid if the server cannot report changes; nullopt: it can.
  std::optional<std::chrono::milliseconds> list_lasts{};
};

class UpstreamInstance : public std::enable_shared_from_this<UpstreamInstance> {
 public:
  UpstreamInstance(const asio::any_io_executor& io, UpstreamInstanceOptions options);

  // `definition`: the canonical form that the caller was shown.
  asio::awaitable<ToolAnswer> Call(std::string tool, std::string definition, Dict arguments,
                                   OnProgress on_progress);
  // Returns when the server has listed its tools.
  asio::awaitable<Result<void>> Prepare();
  // Lists the tools again, in the background, if the list is older than `list_lasts` or missing.
  void RefreshIfOld();
  void Close();

 private:
  using Clock = std::chrono::steady_clock;
  // One coroutine prepares; all wait for it.
  struct Preparation {
    asio::steady_timer done;
    std::optional<Result<void>> outcome{};
  };

  // All run on the strand.
  asio::awaitable<Result<void>> BeReady();
  asio::awaitable<ToolAnswer> CallHere(std::string tool, std::string definition, Dict arguments,
                                       OnProgress on_progress);
  bool is_ready() const { return link_ != nullptr && !link_->is_broken() && !stale_; }
  Result<void> BeginPreparing();
  asio::awaitable<void> PrepareNow(std::shared_ptr<Preparation> preparation);
  asio::awaitable<Result<void>> Connect();
  asio::awaitable<Result<void>> Greet(FirstEra era);
  asio::awaitable<Result<void>> List();
  asio::awaitable<Result<Dict>> Ask(std::string method, Dict params, OnProgress on_progress = {});
  void OnStale();
  void CloseLink();

  const UpstreamInstanceOptions options_;
  const asio::any_io_executor strand_;
  std::shared_ptr<UpstreamLink> link_;
  std::shared_ptr<Preparation> preparing_;
  UpstreamDefinitions definitions_;
  bool modern_ = false;
  bool stale_ = true;  // The list must be fetched.
  bool closed_ = false;
  std::chrono::milliseconds pause_{0};
  Clock::time_point not_before_{};
  Clock::time_point listed_at_{};
  asio::steady_timer refresh_;  // Limits how often a server's change notices are acted on.
  std::atomic<Clock::rep> old_at_;
};

}  // namespace caisson
