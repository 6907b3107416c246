#include "protocol/responses/invocations.h"

#include <utility>

#include "base/json_object.h"
#include "base/low_priority_pool.h"
#include "base/run_on.h"
#include "net/sse.h"
#include "protocol/responses/api_error.h"
#include "protocol/responses/create_response.h"
#include "protocol/responses/field_reader.h"
#include "protocol/responses/turn_feed.h"
#include "protocol/responses/wire_id.h"
#include "wire/json.h"

namespace caisson::responses {
namespace {

struct Invocation {
  std::string message;
  bool stream = false;
};

Result<Invocation> Read(const Value& body, ApiError& refusal) {
  const auto* object = body.If<Dict>();
  if (object == nullptr) {
    refusal = InvalidValue("", "The body must be a JSON object.");
    return Error(ErrorCode::kInvalidArgument, refusal.message);
  }
  const FieldReader fields(*object, "", refusal);
  Invocation invocation;
  TRY_ASSIGN(invocation.message, fields.RequiredText("message"));
  if (invocation.message.empty()) return fields.Refuse("message", "'message' must not be empty.");
  TRY_ASSIGN(const auto stream, fields.Flag("stream"));
  invocation.stream = stream.value_or(false);
  return invocation;
}

std::string OutputText(const TurnView& turn) {
  std::string text;
  for (const TurnItem& item : turn.output) {
    const auto* message = std::get_if<model::MessageItem>(&item.content);
    if (message == nullptr) continue;
    for (const model::Part& part : message->parts) {
      if (const auto* piece = std::get_if<model::TextPart>(&part)) text += piece->text;
      if (const auto* refusal = std::get_if<model::RefusalPart>(&part)) text += refusal->text;
    }
  }
  return text;
}

// Creates the conversation of the session at its first use.
asio::awaitable<Result<ConversationId>> OpenSession(const Door& door, const Caller& caller) {
  const ConversationId id("session_" + caller.names.session);
  Conversations& conversations = door.services.conversations;
  const auto known = co_await conversations.Find(caller.owner, id);
  if (known) co_return id;
  if (known.error().code() != ErrorCode::kNotFound) co_return known.error();
  const auto made = co_await conversations.Create(
      caller.owner, {.id = id, .created_at = door.services.clock.Now()}, {});
  // Another request may have been faster.
  if (!made && made.error().code() != ErrorCode::kFailedPrecondition) co_return made.error();
  co_return id;
}

class InvocationHandler {
 public:
  InvocationHandler(const Door& door, net::Exchange& exchange)
      : door_(door), exchange_(exchange), caller_(CallerOf(exchange.request())) {}

  asio::awaitable<void> Perform() {
    ApiError refusal = InvalidValue("", "The body is not JSON.");
    const std::string& text = exchange_.request().body;
    auto invocation = co_await CallAside(door_.services.cpu_pool, text.size(), [&] {
      const auto body = ParseJson(text);
      return body ? Read(*body, refusal) : Result<Invocation>(body.error());
    });
    if (!invocation) co_return co_await Reply(ToResponse(refusal));
    const auto agent = FindAgent(door_, "");
    if (!agent) co_return co_await Reply(ToResponse(NoModel("")));
    auto session = co_await OpenSession(door_, caller_);
    if (!session) co_return co_await Reply(ToResponse(FromError(session.error())));
    const std::string* given = exchange_.request().headers.Find("x-agent-invocation-id");
    TurnSpec turn{.agent = *agent};
    turn.id = ResponseId(given != nullptr && IsWireId(*given) ? *given : NewWireId("inv_"));
    turn.conversation = *std::move(session);
    turn.input = {{.id = NewWireId("msg_"),
                   .content = model::MessageItem{
                       .parts = {model::TextPart{std::move(invocation->message)}}}}};
    turn.caller = ContextOf(door_, caller_, turn);
    id_ = turn.id->str();
    if (invocation->stream) {
      co_await Stream(std::move(turn));
    } else {
      co_await Answer(std::move(turn));
    }
  }

 private:
  net::Headers Headers(int status) const {
    net::Headers headers;
    AddHeaders(door_, caller_.names, status, headers);
    if (!id_.empty()) headers.Add("x-agent-invocation-id", id_);
    return headers;
  }
  asio::awaitable<void> Reply(net::Response response) {
    for (const auto& [name, value] : Headers(response.status)) response.headers.Add(name, value);
    static_cast<void>(co_await exchange_.Send(std::move(response)));
  }
  asio::awaitable<void> ReplyError(const TurnSpec& turn, Error error, bool has_begun) {
    const ApiError known = co_await StartError(door_, caller_.owner, turn, std::move(error));
    co_await Reply(ToResponse(known, has_begun ? Repeat::kNever : Repeat::kClientDecides));
  }
  static ApiError Failure(const TurnView& turn) {
    return {.status = 500,
            .message = turn.error.empty() ? "The turn failed." : turn.error,
            .code = "server_error"};
  }

  asio::awaitable<void> Answer(TurnSpec turn) {
    bool has_begun = false;
    const auto view = co_await door_.services.turns.Start(
        caller_.owner, turn, [&has_begun](const TurnEvent&) { has_begun = true; });
    if (!view) co_return co_await ReplyError(turn, view.error(), has_begun);
    if (view->state == TurnState::kFailed) {
      co_return co_await Reply(ToResponse(Failure(*view), Repeat::kNever));
    }
    co_await Reply({.headers = {{.name = "Content-Type", .value = "text/plain; charset=utf-8"}},
                    .body = OutputText(*view)});
  }

  asio::awaitable<void> Stream(TurnSpec turn) {
    const auto feed = std::make_shared<TurnFeed>();
    std::optional<Result<TurnView>> view;
    const auto work = [&]() -> asio::awaitable<void> {
      view = co_await door_.services.turns.Start(
          caller_.owner, turn, [feed](const TurnEvent& event) { feed->Push(event); });
      feed->Close();
    };
    co_await Both(work(), Relay(feed));
    if (view && !*view && !events_) co_return co_await ReplyError(turn, view->error(), false);
    const bool good = view && *view && (*view)->state != TurnState::kFailed;
    if (good || !events_) co_return;
    const ApiError failure = view && *view ? Failure(**view) : FromError(view->error());
    static_cast<void>(co_await events_->Send({.name = "error", .data = ErrorJson(failure)}));
  }

  asio::awaitable<void> Relay(std::shared_ptr<TurnFeed> feed) {
    for (;;) {
      const TurnFeed::Batch batch = co_await feed->Next();
      if (!batch.events.empty() && !events_) {
        auto events = co_await net::EventStream::Open(exchange_, Headers(200));
        if (events) events_ = *std::move(events);
      }
      for (const TurnEvent& event : batch.events) {
        const auto* delta = std::get_if<ItemDelta>(&event.event);
        const bool text = delta != nullptr && (delta->kind == ItemDelta::Kind::kText ||
                                               delta->kind == ItemDelta::Kind::kRefusal);
        if (text && events_) static_cast<void>(co_await events_->Send({.data = delta->text}));
      }
      if (batch.end == TurnFeed::Batch::End::kOverflowed) {
        throw std::runtime_error("the client reads its stream too slowly");
      }
      if (batch.end != TurnFeed::Batch::End::kNo) co_return;
    }
  }

  const Door& door_;
  net::Exchange& exchange_;
  const Caller caller_;
  std::string id_;
  std::optional<net::EventStream> events_;
};

std::string InvocationJson(const TurnView& turn) {
  return JsonObject()
      .Text("id", turn.id.str())
      .Text("status", StatusOf(turn))
      .Text("output", OutputText(turn))
      .Finish();
}

// Shows the invocation, or that there is none.
net::Response Shown(const Result<TurnView>& turn, const std::string& id) {
  if (turn) return net::JsonResponse(200, InvocationJson(*turn));
  if (turn.error().code() != ErrorCode::kNotFound) return ToResponse(FromError(turn.error()));
  return ToResponse({.status = 404,
                     .message = "Invocation with id '" + id + "' not found.",
                     .code = "invocation_not_found"});
}

std::optional<net::Response> MalformedId(const std::string& id) {
  if (IsWireId(id)) return std::nullopt;
  return ToResponse(
      InvalidValue("invocation_id", "An invocation id has 1 to 128 letters, digits, '_' and '-'."));
}

constexpr std::string_view kDescription =
    R"({"openapi":"3.1.0",)"
    R"("info":{"title":"Caisson invocations","version":"1.0.0"},"paths":{)"
    R"("/invocations":{"post":{"summary":"Send a message to the agent","parameters":[)"
    R"({"name":"agent_session_id","in":"query","schema":{"type":"string"}}],)"
    R"("requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object",)"
    R"("properties":{"message":{"type":"string"},"stream":{"type":"boolean"}},)"
    R"("required":["message"]}}}},"responses":{"200":{"description":"The agent's text",)"
    R"("content":{"text/plain":{},"text/event-stream":{}}}}}},)"
    R"("/invocations/{id}":{"get":{"summary":"Look at an invocation","parameters":[)"
    R"({"name":"id","in":"path","required":true,"schema":{"type":"string"}}],)"
    R"("responses":{"200":{"description":"Its status and text"},"404":{"description":"None"}}}},)"
    R"("/invocations/{id}/cancel":{"post":{"summary":"Cancel an invocation","parameters":[)"
    R"({"name":"id","in":"path","required":true,"schema":{"type":"string"}}],)"
    R"("responses":{"200":{"description":"Its status and text"},"404":{"description":"None"}}}}}})";

}  // namespace

asio::awaitable<void> Invoke(const Door& door, net::Exchange& exchange) {
  InvocationHandler handler(door, exchange);
  co_await handler.Perform();
}

asio::awaitable<net::Response> GetInvocation(const Door& door, Caller caller,
                                             net::Request request) {
  const std::string& id = request.Parameter("id");
  if (auto malformed = MalformedId(id)) co_return *std::move(malformed);
  co_return Shown(co_await door.services.turns.Find(caller.owner, ResponseId(id)), id);
}

asio::awaitable<net::Response> CancelInvocation(const Door& door, Caller caller,
                                                net::Request request) {
  const std::string& id = request.Parameter("id");
  if (auto malformed = MalformedId(id)) co_return *std::move(malformed);
  co_return Shown(co_await door.services.turns.Cancel(caller.owner, ResponseId(id)), id);
}

asio::awaitable<net::Response> DescribeInvocations(const Door&, Caller, net::Request) {
  co_return net::JsonResponse(200, std::string(kDescription));
}

}  // namespace caisson::responses
