#include "protocol/rest/start_run.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

#include "base/json_quote.h"
#include "base/sha256.h"
#include "codeact/door_session.h"
#include "protocol/rest/json.h"
#include "protocol/rest/output_text.h"
#include "protocol/rest/status.h"

namespace caisson::rest {
namespace {

constexpr auto kKeysAreKept = std::chrono::hours(24);
constexpr std::size_t kMaxKeyBytes = 255;
// Of one look at a run that another request has started.
constexpr auto kLook = std::chrono::hours(1);

Error Bad(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}

Result<std::optional<IdempotencyKey>> ReadKey(const net::Request& request) {
  const std::string* key = request.headers.Find("Idempotency-Key");
  if (key == nullptr) return std::optional<IdempotencyKey>();
  const bool printable = std::ranges::all_of(*key, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (request.headers.Count("Idempotency-Key") > 1 || key->empty() || key->size() > kMaxKeyBytes ||
      !printable) {
    return Bad("Idempotency-Key must be one text of 1 to 255 printable characters");
  }
  return std::optional(IdempotencyKey("rest/runs/" + *key));
}

// The key is the client's name for its request, if it has one.
std::shared_ptr<const SessionContext> ContextFor(SessionHost& sessions, const Caller& caller,
                                                 const RunRequest& request,
                                                 const net::Request& asked) {
  const std::string* key = asked.headers.Find("Idempotency-Key");
  return ForRequest(
      RemoteSession(sessions, caller.identity, "rest"),
      {.message_id = key == nullptr ? "" : *key, .session = request.start.session.value_or("")});
}

std::string ProblemText(const Error& error) {
  const net::Response response = ToResponse(error);
  return response.body.empty() ? net::ToResponse({.status = response.status}).body : response.body;
}

// The id of a run, told by whoever starts it to whoever waits for it. Both on one strand.
class FirstWord {
 public:
  explicit FirstWord(const asio::any_io_executor& executor)
      : told_(executor, asio::steady_timer::time_point::max()) {}

  void Tell(std::optional<RunId> id) {
    if (!over_) id_ = std::move(id);
    over_ = true;
    told_.cancel();
  }
  // Nothing: it came to nothing.
  asio::awaitable<std::optional<RunId>> Hear() {
    while (!over_) {
      [[maybe_unused]] const auto woken =
          co_await told_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    co_return id_;
  }

 private:
  asio::steady_timer told_;  // Never expires.
  std::optional<RunId> id_;
  bool over_ = false;
};

}  // namespace

Result<void> RequireJson(const net::Request& request) {
  const std::string* type = request.headers.Find("Content-Type");
  if (type != nullptr && net::HasToken(*type, "application/json")) return {};
  return Bad("Content-Type must be application/json");
}

asio::awaitable<void> RunStart::Perform() {
  const auto run = co_await Start();
  [[maybe_unused]] Result<void> told;  // A client that has gone is nobody's to tell.
  if (events_) {
    const net::Event event = run ? net::Event{.name = "run", .data = ToJson(*run)}
                                 : net::Event{.name = "problem", .data = ProblemText(run.error())};
    told = co_await events_->Send(event);
  } else if (!run) {
    told = co_await exchange_.Send(Refusal(run.error()));
  } else {
    net::Response response =
        net::JsonResponse(run->state == RunState::kFinished ? 200 : 202, ToJson(*run));
    response.headers.Add("Location", "/v1/runs/" + run->id.str());
    told = co_await exchange_.Send(std::move(response));
  }
}

// The request is as it should be, and so is the key; only not both together.
net::Response RunStart::Refusal(const Error& error) const {
  if (!key_was_used_) return ToResponse(error);
  return net::ToResponse({.status = 422, .detail = error.message()});
}

asio::awaitable<Result<RunView>> RunStart::Start() {
  const net::Request& asked = exchange_.request();
  const Caller& caller = CallerOf(asked);
  if (auto json = RequireJson(asked); !json) co_return std::move(json).error();
  auto request = ParseRunRequest(asked.body, usual_);
  if (!request) co_return std::move(request).error();
  if (services_.sessions != nullptr) {
    request->start.context = ContextFor(*services_.sessions, caller, *request, asked);
  }
  auto claim = co_await ClaimKey(caller.owner);
  if (!claim) co_return std::move(claim).error();
  if (asked.Accepts("text/event-stream")) co_await OpenEvents(request->start);
  if (claim->done) co_return co_await Again(caller.owner, *claim->done, request->wait);
  if (!claim->key) co_return co_await StartNow(caller.owner, *std::move(request));
  co_return co_await StartOnce(caller.owner, *claim->key, *std::move(request));
}

asio::awaitable<Result<RunStart::Claim>> RunStart::ClaimKey(const IsolationKey& owner) {
  auto key = ReadKey(exchange_.request());
  if (!key) co_return std::move(key).error();
  if (!*key) co_return Claim{};
  const SystemTime now = services_.clock.Now();
  const auto answer = co_await services_.idempotency.Begin(
      owner, **key, ToHex(Sha256(exchange_.request().body)), now, now + kKeysAreKept);
  if (!answer) co_return answer.error();
  switch (answer->kind) {
    case IdempotencyAnswer::Kind::kFresh:
      co_return Claim{.key = *key};
    case IdempotencyAnswer::Kind::kReplay:
      co_return Claim{.key = *key, .done = RunId(answer->reply)};
    case IdempotencyAnswer::Kind::kInProgress:
      co_return Error(ErrorCode::kFailedPrecondition,
                      "a request with this Idempotency-Key is being started");
    case IdempotencyAnswer::Kind::kMismatch:
      break;
  }
  key_was_used_ = true;
  co_return Bad("this Idempotency-Key was used for another request");
}

asio::awaitable<Result<RunView>> RunStart::StartOnce(IsolationKey owner, IdempotencyKey key,
                                                     RunRequest request) {
  using asio::experimental::awaitable_operators::operator&&;
  // The client may come back for it under its key: it goes on without.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const auto executor = co_await asio::this_coro::executor;
  const auto word = std::make_shared<FirstWord>(executor);
  request.start.on_start = [word, executor,
                            next = std::move(request.start.on_start)](const RunId& id) {
    if (next) next(id);
    asio::post(executor, [word, id] { word->Tell(id); });
  };
  const auto start = [&]() -> asio::awaitable<Result<RunView>> {
    auto run = co_await StartNow(owner, std::move(request));
    word->Tell(run ? std::optional(run->id) : std::nullopt);
    co_return run;
  };
  const auto note = [&]() -> asio::awaitable<Result<void>> {
    const auto id = co_await word->Hear();
    if (id) co_return co_await services_.idempotency.Complete(owner, key, id->str());
    co_return co_await services_.idempotency.Abandon(owner, key);
  };
  auto [run, noted] = co_await (start() && note());
  // The run is started all the same, and the key refuses a second one.
  co_return std::move(run);
}

asio::awaitable<Result<RunView>> RunStart::StartNow(IsolationKey owner, RunRequest request) {
  if (request.wait == Wait::kNotAtAll) {
    co_return co_await services_.runs.StartDetached(owner, std::move(request.start));
  }
  co_return co_await services_.runs.Start(owner, std::move(request.start));
}

asio::awaitable<Result<RunView>> RunStart::Again(IsolationKey owner, RunId id, Wait wait) {
  auto run = co_await services_.runs.Find(owner, id);
  if (!run || run->state != RunState::kRunning || wait == Wait::kNotAtAll) co_return run;
  co_return co_await services_.runs.Await(owner, id, std::chrono::steady_clock::now() + kLook);
}

asio::awaitable<void> RunStart::OpenEvents(StartRun& start) {
  auto events = co_await net::EventStream::Open(exchange_);
  if (!events) co_return;
  events_ = *std::move(events);
  start.on_start = [events = *events_](const RunId& id) mutable {
    events.Post({.name = "started", .data = "{\"id\":" + JsonQuoted(id.str()) + "}"});
  };
  // Called on the run's executor alone, one after the other.
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
