#include "tools/mcp/upstream_instance.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/run_on.h"
#include "base/spawn.h"
#include "tools/body.h"
#include "tools/mcp/upstream_answer.h"
#include "wire/canonical_json.h"
#include "wire/object.h"

namespace caisson {
namespace {

constexpr std::string_view kModern = "2026-07-28";
constexpr std::string_view kLegacy = "2025-11-25";
// Versions that a server may answer with; the parts used here are the same.
constexpr std::string_view kLegacyVersions[] = {kLegacy, "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::size_t kMaxTools = 1000;
constexpr int kMaxPages = 100;
constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::seconds kLongestPause{30};
// Programs that are downloaded on first use need this time.
constexpr std::chrono::seconds kStartTime{60};
constexpr std::chrono::milliseconds kBetweenLists{100};

ToolRaised Raised(std::string type, std::string message) {
  return {.type = std::move(type), .message = std::move(message)};
}

ToolRaised RaisedFor(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kFailedPrecondition:  // An error sent by the server.
      return Raised("ToolError", error.message());
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kCancelled:
      return ToRaised(error);
    default:
      return Raised("ConnectionError", error.message());
  }
}

Dict ClientInfo() {
  return Object({{"name", "caisson"}, {"version", "1"}});
}

}  // namespace

UpstreamInstance::UpstreamInstance(const asio::any_io_executor& io, UpstreamInstanceOptions options)
    : options_(std::move(options)),
      strand_(asio::make_strand(io)),
      refresh_(strand_),
      old_at_(Clock::time_point::max().time_since_epoch().count()) {}

asio::awaitable<ToolAnswer> UpstreamInstance::Call(std::string tool, std::string definition,
                                                   Dict arguments, OnProgress on_progress) {
  const auto self = shared_from_this();
  co_return co_await RunOn(strand_, CallHere(std::move(tool), std::move(definition),
                                             std::move(arguments), std::move(on_progress)));
}

asio::awaitable<Result<void>> UpstreamInstance::Prepare() {
  const auto self = shared_from_this();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return co_await RunOn(strand_, BeReady());
}

void UpstreamInstance::RefreshIfOld() {
  if (Clock::now().time_since_epoch().count() < old_at_) return;
  asio::post(strand_, [self = shared_from_this()] {
    self->stale_ = true;
    if (self->preparing_ == nullptr) static_cast<void>(self->BeginPreparing());
  });
}

void UpstreamInstance::Close() {
  asio::post(strand_, [self = shared_from_this()] {
    self->closed_ = true;
    self->refresh_.cancel();
    self->CloseLink();
  });
}

void UpstreamInstance::CloseLink() {
  if (link_ == nullptr) return;
  asio::post(link_->executor(), [link = link_] { link->Close(); });
}

asio::awaitable<ToolAnswer> UpstreamInstance::CallHere(std::string tool, std::string definition,
                                                       Dict arguments, OnProgress on_progress) {
  co_await asio::this_coro::throw_if_cancelled(false);
  if (const auto ready = co_await BeReady(); !ready) co_return RaisedFor(ready.error());
  const auto current = definitions_.find(tool);
  if (current == definitions_.end()) {
    co_return Raised("LookupError",
                     "the server \"" + options_.name + "\" has no tool \"" + tool + "\" any more");
  }
  if (current->second.canonical != definition) {
    co_return Raised("RuntimeError", "the server \"" + options_.name +
                                         "\" has changed its tool \"" + tool +
                                         "\" since this run began, so it was not called; start a "
                                         "new run to use the new definition");
  }
  if (co_await IsCancelled()) co_return Raised("CancelledError", "the call was cancelled");
  const auto result =
      co_await Ask("tools/call", Object({{"name", tool}, {"arguments", std::move(arguments)}}),
                   std::move(on_progress));
  // If the call changed the list of tools, the new list is known when it returns.
  if (stale_ && result && !co_await IsCancelled()) static_cast<void>(co_await BeReady());
  if (result) co_return AnswerOf(*result);
  co_return RaisedFor(result.error());
}

asio::awaitable<Result<void>> UpstreamInstance::BeReady() {
  if (is_ready() && preparing_ == nullptr) co_return Result<void>();
  if (preparing_ == nullptr) {
    if (auto begun = BeginPreparing(); !begun) co_return begun;
  }
  const auto preparation = preparing_;
  if (!co_await IsCancelled()) {
    co_await preparation->done.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  if (preparation->outcome) co_return *preparation->outcome;
  co_return Error(ErrorCode::kCancelled, "the call was cancelled");
}

Result<void> UpstreamInstance::BeginPreparing() {
  if (closed_) {
    return Error(ErrorCode::kUnavailable, "the server \"" + options_.name + "\" is closed");
  }
  const bool connected = link_ != nullptr && !link_->is_broken();
  if (!connected && Clock::now() < not_before_) {
    return Error(ErrorCode::kUnavailable,
                 "the server \"" + options_.name + "\" has failed; it is tried again soon");
  }
  preparing_ = std::make_shared<Preparation>(
      Preparation{.done = asio::steady_timer(strand_, Clock::time_point::max())});
  const auto prepare = [](std::shared_ptr<UpstreamInstance> self,
                          std::shared_ptr<Preparation> preparation) -> asio::awaitable<void> {
    co_await self->PrepareNow(std::move(preparation));
  };
  Spawn(strand_, prepare(shared_from_this(), preparing_));
  return {};
}

asio::awaitable<void> UpstreamInstance::PrepareNow(std::shared_ptr<Preparation> preparation) {
  asio::steady_timer deadline(strand_, kStartTime);
  deadline.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (!error && self != nullptr) self->CloseLink();
  });
  Result<void> outcome;
  if (link_ == nullptr || link_->is_broken()) {
    not_before_ =
        Clock::now() + kFirstPause;  // Also for a server that starts well and dies at every call.
    outcome = co_await Connect();
  }
  if (outcome) outcome = co_await List();
  // After any failure, the server is not asked again at once.
  if (outcome) {
    pause_ = std::chrono::milliseconds(0);
  } else {
    pause_ = std::clamp<std::chrono::milliseconds>(pause_ * 2, kFirstPause, kLongestPause);
    not_before_ = Clock::now() + pause_;
    old_at_ = not_before_.time_since_epoch().count();
    CloseLink();
    link_.reset();
    if (outcome.error().code() != ErrorCode::kPermissionDenied) {
      outcome = Error(ErrorCode::kUnavailable, outcome.error().message());
    }
    outcome = std::move(outcome).error().Context("upstream \"" + options_.name + "\"");
  }
  preparation->outcome = std::move(outcome);
  preparation->done.cancel();
  preparing_.reset();
}

asio::awaitable<Result<void>> UpstreamInstance::Connect() {
  auto link = options_.connect([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    asio::post(self->strand_, [self] { self->OnStale(); });
  });
  if (!link) co_return std::move(link).error();
  link_ = *std::move(link);
  stale_ = true;
  const FirstEra first = options_.first_era;
  auto greeted = co_await Greet(first);
  if (!greeted && greeted.error().code() != ErrorCode::kPermissionDenied) {
    const auto second =
        co_await Greet(first == FirstEra::kLegacy ? FirstEra::kModern : FirstEra::kLegacy);
    if (second) co_return Result<void>();
  }
  co_return greeted;
}

asio::awaitable<Result<void>> UpstreamInstance::Greet(FirstEra era) {
  modern_ = era == FirstEra::kModern;
  link_->SetVersion(modern_ ? std::string(kModern) : std::string());
  auto asking = modern_ ? Ask("server/discover", {})
                        : Ask("initialize", Object({{"protocolVersion", std::string(kLegacy)},
                                                    {"capabilities", Dict()},
                                                    {"clientInfo", ClientInfo()}}));
  auto answer = co_await std::move(asking);
  if (!answer) co_return std::move(answer).error();
  if (modern_) co_return Result<void>();
  const auto* version = FindAs<std::string>(*answer, "protocolVersion");
  if (version != nullptr &&
      std::ranges::find(kLegacyVersions, *version) == std::end(kLegacyVersions)) {
    co_return Error(ErrorCode::kUnavailable,
                    "the server supports no MCP version that this program supports");
  }
  link_->SetVersion(version == nullptr ? std::string(kLegacy) : *version);
  co_await RunOn(link_->executor(), link_->Tell("notifications/initialized", {}));
  co_return Result<void>();
}

asio::awaitable<Result<Dict>> UpstreamInstance::Ask(std::string method, Dict params,
                                                    OnProgress on_progress) {
  if (modern_) {
    Append(params, "_meta",
           Object({{"io.modelcontextprotocol/protocolVersion", std::string(kModern)},
                   {"io.modelcontextprotocol/clientCapabilities", Dict()},
                   {"io.modelcontextprotocol/clientInfo", ClientInfo()}}));
  }
  const auto link = link_;
  co_return co_await RunOn(link->executor(),
                           link->Ask(std::move(method), std::move(params), std::move(on_progress)));
}

asio::awaitable<Result<void>> UpstreamInstance::List() {
  UpstreamDefinitions definitions;
  std::optional<std::string> cursor;
  stale_ = false;  // Later changes are reported again.
  for (int page = 0; page < kMaxPages; ++page) {
    Dict params;
    if (cursor) Append(params, "cursor", *cursor);
    const auto listed = co_await Ask("tools/list", std::move(params));
    const auto* tools = listed ? FindAs<caisson::List>(*listed, "tools") : nullptr;
    if (tools == nullptr) {
      stale_ = true;
      co_return listed ? Error(ErrorCode::kUnavailable, "the server lists no tools")
                       : listed.error();
    }
    for (const Value& tool : tools->items) {
      const auto* fields = tool.If<Dict>();
      const auto* name = fields == nullptr ? nullptr : FindAs<std::string>(*fields, "name");
      if (name == nullptr || definitions.size() >= kMaxTools) continue;
      auto text = ToJson(tool);
      auto canonical = CanonicalJson(tool);
      if (!text || !canonical) continue;
      definitions.emplace(*name, UpstreamDefinition{*std::move(text), *std::move(canonical)});
    }
    const auto* next = FindAs<std::string>(*listed, "nextCursor");
    if (next == nullptr) break;
    cursor = *next;
  }
  definitions_ = std::move(definitions);
  listed_at_ = Clock::now();
  old_at_ = options_.list_lasts ? (listed_at_ + *options_.list_lasts).time_since_epoch().count()
                                : Clock::time_point::max().time_since_epoch().count();
  if (options_.on_listed) options_.on_listed(definitions_);
  co_return Result<void>();
}

void UpstreamInstance::OnStale() {
  if (closed_ || stale_) return;
  stale_ = true;
  refresh_.expires_at(listed_at_ + kBetweenLists);
  refresh_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (error || self == nullptr || self->is_ready() || self->preparing_ != nullptr) return;
    static_cast<void>(self->BeginPreparing());
  });
}

}  // namespace caisson
