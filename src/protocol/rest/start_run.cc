#include "protocol/rest/start_run.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/json_quote.h"
#include "base/low_priority_pool.h"
#include "base/sha256.h"
#include "protocol/door/status.h"
#include "protocol/rest/output_text.h"
#include "protocol/rest/rest_json.h"
#include "runs/door_caller.h"

namespace caisson::rest {
namespace {

constexpr auto kKeysAreKept = std::chrono::hours(24);
constexpr std::size_t kMaxKeyBytes = 255;
// The longest single wait for a run that another request has started.
constexpr auto kLook = std::chrono::hours(1);

Error Bad(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}

// The key is the client's key for its request, if it has one.
std::shared_ptr<const CallerContext> ContextFor(CallerHost& caller_host, const Caller& caller,
                                                const RunBody& request, const net::Request& asked) {
  const std::string* key = asked.headers.Find("Idempotency-Key");
  return ForRequest(
      RemoteCaller(caller_host, caller.identity, "rest"),
      {.message_id = key == nullptr ? "" : *key, .session = request.start.session.value_or("")});
}

std::string ProblemText(const Error& error) {
  const net::Response response = ToResponse(error);
  return response.body.empty() ? net::ToResponse({.status = response.status}).body : response.body;
}

}  // namespace

asio::awaitable<void> RunStart::Perform() {
  const auto run = co_await Start();
  [[maybe_unused]] Result<void> told;  // Ignored: a disconnected client cannot be told.
  std::string text;
  if (run) {
    text = co_await CallAside(services_.cpu_pool, JsonWork(*run), [&] { return ToJson(*run); });
  }
  if (events_) {
    const net::Event event = run ? net::Event{.name = "run", .data = std::move(text)}
                                 : net::Event{.name = "problem", .data = ProblemText(run.error())};
    told = co_await events_->Send(event);
  } else if (!run) {
    told = co_await exchange_.Send(Refusal(run.error()));
  } else {
    net::Response response =
        net::JsonResponse(run->state == RunState::kFinished ? 200 : 202, std::move(text));
    response.headers.Add("Location", "/v1/runs/" + run->id.str());
    told = co_await exchange_.Send(std::move(response));
  }
}

// Request and key are each valid, but the key belongs to another request.
net::Response RunStart::Refusal(const Error& error) const {
  if (!key_was_used_) return ToResponse(error);
  return net::ToResponse({.status = 422, .detail = error.message()});
}

asio::awaitable<Result<RunView>> RunStart::Start() {
  const net::Request& asked = exchange_.request();
  const Caller& caller = CallerOf(asked);
  if (auto json = RequireJson(asked); !json) co_return std::move(json).error();
  auto request = co_await CallAside(services_.cpu_pool, asked.body.size(),
                                    [&] { return ParseRunBody(asked.body, usual_); });
  if (!request) co_return std::move(request).error();
  if (services_.caller_host != nullptr) {
    request->start.caller = ContextFor(*services_.caller_host, caller, *request, asked);
  }
  auto key = co_await CallAside(services_.cpu_pool, asked.body.size(), [&] { return ReadKey(); });
  if (!key) co_return std::move(key).error();
  std::optional<RunId> before;
  if (*key) {
    auto started = co_await FindStarted(caller.owner, **key);
    if (!started) co_return std::move(started).error();
    before = *std::move(started);
  }
  request->start.key = *std::move(key);
  if (asked.Accepts("text/event-stream")) co_await OpenEvents(request->start);
  if (before) co_return co_await Again(caller.owner, *std::move(before), request->wait);
  if (!request->start.key) co_return co_await StartNow(caller.owner, *std::move(request));
  co_return co_await StartOnce(caller.owner, *std::move(request));
}

Result<std::optional<RunKey>> RunStart::ReadKey() const {
  const net::Request& request = exchange_.request();
  const std::string* key = request.headers.Find("Idempotency-Key");
  if (key == nullptr) return std::optional<RunKey>();
  const bool printable = std::ranges::all_of(*key, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (request.headers.Count("Idempotency-Key") > 1 || key->empty() || key->size() > kMaxKeyBytes ||
      !printable) {
    return Bad("Idempotency-Key must be one text of 1 to 255 printable characters");
  }
  return std::optional(RunKey{.id = IdempotencyKey("rest/runs/" + *key),
                              .fingerprint = ToHex(Sha256(request.body)),
                              .expires_at = services_.clock.Now() + kKeysAreKept});
}

asio::awaitable<Result<std::optional<RunId>>> RunStart::FindStarted(IsolationKey owner,
                                                                    RunKey key) {
  auto found = co_await services_.runs.FindByKey(std::move(owner), key.id);
  if (!found && found.error().code() == ErrorCode::kNotFound) co_return std::optional<RunId>();
  if (!found) co_return std::move(found).error();
  key_was_used_ = found->fingerprint != key.fingerprint;
  if (key_was_used_) co_return Bad("this Idempotency-Key was used for another request");
  co_return std::optional(std::move(found->run));
}

asio::awaitable<Result<RunView>> RunStart::StartOnce(IsolationKey owner, RunBody request) {
  const RunKey key = *request.start.key;
  const Wait wait = request.wait;
  auto run = co_await StartNow(owner, std::move(request));
  if (run || run.error().code() != ErrorCode::kFailedPrecondition) co_return run;
  // The same request may have come twice at once, and the other one was faster.
  const auto started = co_await FindStarted(owner, key);
  if (!started) co_return started.error();
  if (!*started) co_return run;
  co_return co_await Again(owner, **started, wait);
}

asio::awaitable<Result<RunView>> RunStart::StartNow(IsolationKey owner, RunBody request) {
  if (request.wait == Wait::kNotAtAll) {
    co_return co_await services_.runs.StartDetached(owner, std::move(request.start));
  }
  co_return co_await services_.runs.Start(owner, std::move(request.start));
}

asio::awaitable<Result<RunView>> RunStart::Again(IsolationKey owner, RunId id, Wait wait) {
  if (wait == Wait::kNotAtAll) co_return co_await services_.runs.Find(owner, id);
  // This client has not seen any of its approvals.
  co_return co_await services_.runs.Await(owner, id, {}, std::chrono::steady_clock::now() + kLook);
}

asio::awaitable<void> RunStart::OpenEvents(RunSpec& start) {
  auto events = co_await net::EventStream::Open(exchange_);
  if (!events) co_return;
  events_ = *std::move(events);
  start.on_start = [events = *events_](const RunId& id) mutable {
    events.Post({.name = "started", .data = "{\"id\":" + JsonQuoted(id.str()) + "}"});
  };
  // Called on the run's executor only, one after the other.
  start.on_output = [events = *events_, text = std::make_shared<OutputText>()](
                        OutputStream stream, std::string_view bytes) mutable {
    const std::string whole = text->Take(stream, bytes);
    if (whole.empty()) return;
    const std::string_view name = stream == OutputStream::kStdout ? "stdout" : "stderr";
    events.Post(
        {.name = "output",
         .data = "{\"stream\":" + JsonQuoted(name) + ",\"text\":" + JsonQuoted(whole) + "}"});
  };
}

}  // namespace caisson::rest
