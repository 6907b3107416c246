// An UpstreamInstance is one MCP server as those who share it see it: connected when it is first needed, and again, after
// a pause that grows, when it has died.
//
//   auto instance = std::make_shared<UpstreamInstance>(io, {.name = "files", .connect = ..., .on_listed = ...});
//   ToolAnswer answer = co_await instance->Call("read", definition, arguments, on_progress);
//
// Both eras are spoken: a program is asked in the old one first, which nearly all speak and the others refuse; a URL in
// the new one, which needs no session.
//
// Trust     As UpstreamLink. A tool is called only if the server still defines it as whoever calls was shown (I5).
// Threads   Any; its own state is touched on its strand alone.
// Lifetime  Shared by its table and the calls under way. Close() ends them, and what it has begun by itself.
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

// A server's tools by its own names, as canonical JSON.
using UpstreamDefinitions = std::map<std::string, std::string>;

enum class FirstEra { kLegacy, kModern };

struct UpstreamInstanceOptions {
  std::string name;
  std::function<Result<std::shared_ptr<UpstreamLink>>(OnListChanged)> connect{};
  // Whenever the server has told its tools; on the instance's strand.
  std::function<void(const UpstreamDefinitions&)> on_listed{};
  FirstEra first_era = FirstEra::kLegacy;
  // How long a list is believed of a server that cannot say when it changes; nothing: it can.
  std::optional<std::chrono::milliseconds> list_lasts{};
};

class UpstreamInstance : public std::enable_shared_from_this<UpstreamInstance> {
 public:
  UpstreamInstance(const asio::any_io_executor& io, UpstreamInstanceOptions options);

  asio::awaitable<ToolAnswer> Call(std::string tool, std::string definition, Dict arguments,
                                   OnProgress on_progress);
  // Returns when the server has told its tools.
  asio::awaitable<Result<void>> Prepare();
  // Asks for them again, in the background, if they are older than `list_lasts` or could not be had.
  void RefreshIfOld();
  void Close();

 private:
  using Clock = std::chrono::steady_clock;
  // Getting ready: one does it, all wait for it.
  struct Preparation {
    asio::steady_timer done;
    std::optional<Result<void>> outcome{};
  };

  // All on the strand.
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
  bool stale_ = true;  // The list has to be fetched.
  bool closed_ = false;
  std::chrono::milliseconds pause_{0};
  Clock::time_point not_before_{};
  Clock::time_point listed_at_{};
  asio::steady_timer refresh_;  // A server that cries all the time is heard now and then.
  std::atomic<Clock::rep> old_at_;
};

}  // namespace caisson
