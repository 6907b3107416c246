#include "protocol/responses/create_response.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/low_priority_pool.h"
#include "base/run_on.h"
#include "protocol/responses/response_stream.h"
#include "protocol/responses/wire_id.h"
#include "runs/door_caller.h"

namespace caisson::responses {
namespace {

// References are looked up in at most this many earlier turns.
constexpr int kMaxChain = 100;

const TurnItem* FindItem(const TurnView& turn, std::string_view id) {
  for (const auto* items : {&turn.output, &turn.input}) {
    const auto found = std::ranges::find(*items, id, WireId);
    if (found != items->end()) return &*found;
  }
  return nullptr;
}

// Returns a copy that nothing waits for.
TurnItem AsHistory(TurnItem item) {
  item.id = NewWireId(item.id.substr(0, item.id.find('_') + 1));
  if (auto* code = std::get_if<CodeCall>(&item.content)) code->run = RunId("");
  if (auto* call = std::get_if<HostToolCall>(&item.content)) call->run = RunId("");
  return item;
}

class ResponseCreation {
 public:
  ResponseCreation(const Door& door, net::Exchange& exchange)
      : door_(door), exchange_(exchange), caller_(CallerOf(exchange.request())) {}

  asio::awaitable<void> Perform() {
    auto request = co_await Read();
    if (!request) co_return co_await Refuse(request_error_);
    auto turn = co_await Prepare(*std::move(request));
    if (!turn) co_return co_await Refuse(request_error_);
    const bool background = turn->style == TurnSpec::Style::kBackground;
    if (background && stream_) {
      co_await StreamBackground(*std::move(turn));
    } else if (background) {
      co_await StartBackground(*std::move(turn));
    } else if (stream_) {
      co_await Stream(*std::move(turn));
    } else {
      co_await Answer(*std::move(turn));
    }
  }

 private:
  asio::awaitable<void> Reply(net::Response response) {
    AddHeaders(door_, caller_.names, response.status, response.headers);
    static_cast<void>(co_await exchange_.Send(std::move(response)));
  }
  asio::awaitable<void> Refuse(ApiError error) { co_await Reply(ToResponse(error)); }
  asio::awaitable<void> ReplyTurn(TurnView turn) {
    const ImageUrls images = co_await LoadImages(door_, caller_.owner, turn.output);
    co_await Reply(net::JsonResponse(200, ResponseJson(turn, images)));
  }
  // Before the first event nothing was executed, so that the request may be repeated.
  asio::awaitable<void> ReplyError(const TurnSpec& turn, Error error, bool has_begun) {
    const ApiError known = co_await StartError(door_, caller_.owner, turn, std::move(error));
    co_await Reply(ToResponse(known, has_begun ? Repeat::kNever : Repeat::kClientDecides));
  }

  asio::awaitable<std::optional<CreateRequest>> Read() {
    const net::Request& asked = exchange_.request();
    const std::string* type = asked.headers.Find("Content-Type");
    if (type == nullptr || !net::HasToken(*type, "application/json")) {
      request_error_ = InvalidValue("", "Content-Type must be application/json.");
      co_return std::nullopt;
    }
    request_error_ = InvalidValue("", "The body is not a request for a response.");
    co_return co_await CallAside(door_.services.cpu_pool, asked.body.size(),
                                 [&] { return ReadCreateRequest(asked.body, request_error_); });
  }

  asio::awaitable<std::optional<TurnSpec>> Prepare(CreateRequest request) {
    TurnSpec turn = std::move(request.turn);
    stream_ = request.stream;
    const auto agent = FindAgent(door_, request.model);
    if (!agent) {
      request_error_ = NoModel(request.model);
      co_return std::nullopt;
    }
    turn.agent = *agent;
    turn.door_data = std::move(request.echo);
    if (!SetId(turn)) co_return std::nullopt;
    if (IsWireId(request.session) && door_.form.platform == Form::Platform::kFoundry) {
      caller_.names.session = request.session;
    }
    for (InputItem& item : request.input) {
      if (auto* own = std::get_if<TurnItem>(&item)) {
        turn.input.push_back(std::move(*own));
      } else if (!co_await Resolve(std::get<ItemReference>(item), turn)) {
        co_return std::nullopt;
      }
    }
    turn.answered_by = caller_.identity.user();
    turn.caller = ContextOf(door_, caller_, turn);
    co_return turn;
  }

  // Only a platform chooses ids of responses.
  bool SetId(TurnSpec& turn) {
    if (door_.form.platform != Form::Platform::kFoundry) turn.id.reset();
    const std::string* given = exchange_.request().headers.Find("x-agent-response-id");
    if (given != nullptr && door_.form.platform == Form::Platform::kFoundry) {
      if (!IsWireId(*given)) {
        request_error_ =
            InvalidValue("x-agent-response-id", "The header 'x-agent-response-id' must be an id.");
        return false;
      }
      turn.id = ResponseId(*given);
    }
    if (!turn.id) turn.id = ResponseId(NewWireId(door_.form.id_prefix));
    return true;
  }

  // Items of the chain and of the conversation are part of the turn anyway. An item of another
  // response is added: its copy has no run, as in a history that a client sends.
  asio::awaitable<bool> Resolve(ItemReference reference, TurnSpec& turn) {
    const ItemName name = ParseItemWireId(reference.id);
    std::optional<ResponseId> next = turn.previous;
    for (int i = 0; next && i < kMaxChain; ++i) {
      const auto earlier = co_await door_.services.turns.Find(caller_.owner, *next);
      if (!earlier) break;
      if (FindItem(*earlier, name.item) != nullptr) co_return true;
      next = earlier->previous;
    }
    if (turn.conversation) {
      const auto items =
          co_await door_.services.conversations.Items(caller_.owner, *turn.conversation);
      if (items && std::ranges::find(*items, name.item, WireId) != items->end()) co_return true;
    }
    if (!name.response.empty()) {
      const auto other =
          co_await door_.services.turns.Find(caller_.owner, ResponseId(std::string(name.response)));
      const TurnItem* item = other ? FindItem(*other, name.item) : nullptr;
      if (item != nullptr && !std::holds_alternative<ApprovalAnswer>(item->content)) {
        turn.input.push_back(AsHistory(*item));
        co_return true;
      }
    }
    request_error_ = NoItem(reference.id);
    request_error_.param = "input";
    co_return false;
  }

  ResponseFacts FactsOf(const TurnSpec& turn) const {
    return {.id = turn.id->str(),
            .agent = turn.agent,
            .echo = turn.door_data,
            .previous = turn.previous,
            .conversation = turn.conversation,
            .style = turn.style,
            .created_at = door_.services.clock.Now()};
  }

  asio::awaitable<void> Answer(TurnSpec turn) {
    bool has_begun = false;
    auto view = co_await door_.services.turns.Start(
        caller_.owner, turn, [&has_begun](const TurnEvent&) { has_begun = true; });
    if (!view) co_return co_await ReplyError(turn, view.error(), has_begun);
    co_await ReplyTurn(*std::move(view));
  }

  asio::awaitable<void> Stream(TurnSpec turn) {
    const auto feed = std::make_shared<TurnFeed>();
    std::optional<Result<TurnView>> view;
    const auto work = [&]() -> asio::awaitable<void> {
      view = co_await door_.services.turns.Start(
          caller_.owner, turn, [feed](const TurnEvent& event) { feed->Push(event); });
      feed->Close();
    };
    ResponseStream stream(door_, exchange_, caller_, FactsOf(turn));
    co_await Both(work(), stream.Relay(feed));
    if (view && *view) co_return co_await stream.Finish(**std::move(view));
    if (stream.is_open()) co_return co_await stream.Fail();
    if (view) co_await ReplyError(turn, view->error(), false);
  }

  asio::awaitable<void> StartBackground(TurnSpec turn) {
    auto view = co_await door_.services.turns.StartDetached(caller_.owner, turn);
    if (!view) co_return co_await ReplyError(turn, view.error(), false);
    co_await ReplyTurn(*std::move(view));
  }

  asio::awaitable<void> StreamBackground(TurnSpec turn) {
    const auto view = co_await door_.services.turns.StartDetached(caller_.owner, turn);
    if (!view) co_return co_await ReplyError(turn, view.error(), false);
    co_await StreamStored(door_, exchange_, caller_, *view, {});
  }

  const Door& door_;
  net::Exchange& exchange_;
  Caller caller_;
  ApiError request_error_{.message = {}};
  bool stream_ = false;
};

}  // namespace

asio::awaitable<void> CreateResponse(const Door& door, net::Exchange& exchange) {
  ResponseCreation creation(door, exchange);
  co_await creation.Perform();
}

std::optional<std::string> FindAgent(const Door& door, const std::string& model) {
  const auto agents = door.services.turns.Agents();
  const std::string& name = model.empty() ? door.options.default_agent : model;
  if (name.empty()) return agents.empty() ? std::nullopt : std::optional(agents.front().name);
  const bool known =
      std::ranges::any_of(agents, [&](const AgentInfo& agent) { return agent.name == name; });
  return known ? std::optional(name) : std::nullopt;
}

std::shared_ptr<const CallerContext> ContextOf(const Door& door, const Caller& caller,
                                               const TurnSpec& turn) {
  if (door.services.caller_host == nullptr) return nullptr;
  return ForRequest(RemoteCaller(*door.services.caller_host, caller.identity, "responses"),
                    {.message_id = caller.names.request_id,
                     .session = turn.conversation ? turn.conversation->str() : ""});
}

asio::awaitable<ApiError> StartError(const Door& door, IsolationKey owner, const TurnSpec& turn,
                                     Error error) {
  if (error.code() == ErrorCode::kNotFound) {
    if (turn.previous) co_return NoPreviousResponse(turn.previous->str());
    if (turn.conversation) co_return NoConversation(turn.conversation->str());
    co_return NoModel(turn.agent);
  }
  ApiError known = FromError(error);
  if (error.code() == ErrorCode::kInvalidArgument) known.param = "input";
  if (error.code() == ErrorCode::kFailedPrecondition && turn.id) {
    // The id is the platform's; a turn that has it came first.
    if (const auto same = co_await door.services.turns.Find(owner, *turn.id)) {
      known.message = "A response with id '" + turn.id->str() + "' exists already.";
      known.code = "response_id_conflict";
    }
  }
  co_return known;
}

}  // namespace caisson::responses
