#include "protocol/responses/stored_responses.h"

#include <charconv>
#include <utility>
#include <variant>

#include "base/json_object.h"
#include "protocol/responses/api_error.h"
#include "protocol/responses/item_list.h"
#include "protocol/responses/response_stream.h"
#include "protocol/responses/wire_id.h"

namespace caisson::responses {
namespace {

using Found = std::variant<TurnView, ApiError>;

ApiError MalformedId() {
  return InvalidValue("response_id", "A response id has 1 to 128 letters, digits, '_' and '-'.");
}

// A foreground response exists for others when it has ended.
asio::awaitable<Found> FindResponse(const Door& door, IsolationKey owner, std::string id) {
  if (!IsWireId(id)) co_return MalformedId();
  auto turn = co_await door.services.turns.Find(owner, ResponseId(id));
  if (!turn) {
    if (turn.error().code() == ErrorCode::kNotFound) co_return NoResponse(id);
    co_return FromError(turn.error());
  }
  if (turn->style == TurnSpec::Style::kForeground && !HasEnded(*turn)) co_return NoResponse(id);
  co_return *std::move(turn);
}

asio::awaitable<net::Response> TurnResponse(const Door& door, IsolationKey owner, TurnView turn) {
  const ImageUrls images = co_await LoadImages(door, owner, turn.output);
  co_return net::JsonResponse(200, ResponseJson(turn, images));
}

// Returns the number of "starting_after"; nullopt: from the first event.
std::optional<std::optional<std::uint64_t>> ReadAfter(const net::Request& request) {
  const std::string* text = request.FindQuery("starting_after");
  if (text == nullptr) return std::optional<std::uint64_t>();
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failed != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return std::optional(number);
}

bool WantsStream(const net::Request& request) {
  const std::string* stream = request.FindQuery("stream");
  return stream != nullptr && (*stream == "true" || *stream == "1");
}

}  // namespace

asio::awaitable<void> GetResponse(const Door& door, net::Exchange& exchange) {
  const net::Request& request = exchange.request();
  const Caller caller = CallerOf(request);
  const auto reply = [&](net::Response response) -> asio::awaitable<void> {
    AddHeaders(door, caller.names, response.status, response.headers);
    static_cast<void>(co_await exchange.Send(std::move(response)));
  };
  Found found = co_await FindResponse(door, caller.owner, request.Parameter("id"));
  if (auto* error = std::get_if<ApiError>(&found)) co_return co_await reply(ToResponse(*error));
  TurnView& turn = std::get<TurnView>(found);
  if (!WantsStream(request)) {
    co_return co_await reply(co_await TurnResponse(door, caller.owner, std::move(turn)));
  }
  const auto after = ReadAfter(request);
  if (!after) {
    co_return co_await reply(ToResponse(
        InvalidValue("starting_after", "'starting_after' must be the number of an event.")));
  }
  if (turn.style != TurnSpec::Style::kBackground) {
    co_return co_await reply(ToResponse(InvalidValue(
        "stream",
        "This response cannot be streamed because it was not created with background=true.")));
  }
  co_await StreamStored(door, exchange, caller, std::move(turn), *after);
}

asio::awaitable<net::Response> CancelResponse(const Door& door, Caller caller,
                                              net::Request request) {
  const std::string& id = request.Parameter("id");
  Found found = co_await FindResponse(door, caller.owner, id);
  if (auto* error = std::get_if<ApiError>(&found)) co_return ToResponse(*error);
  const TurnView& turn = std::get<TurnView>(found);
  if (turn.style != TurnSpec::Style::kBackground) {
    co_return ToResponse(InvalidValue("response_id", "Cannot cancel a synchronous response."));
  }
  if (HasEnded(turn) && turn.state != TurnState::kCancelled) {
    co_return ToResponse(InvalidValue(
        "response_id", "Cannot cancel a " + std::string(StatusOf(turn)) + " response."));
  }
  auto cancelled = co_await door.services.turns.Cancel(caller.owner, ResponseId(id));
  if (!cancelled) co_return ToResponse(FromError(cancelled.error()));
  co_return co_await TurnResponse(door, caller.owner, *std::move(cancelled));
}

asio::awaitable<net::Response> DeleteResponse(const Door& door, Caller caller,
                                              net::Request request) {
  const std::string& id = request.Parameter("id");
  if (!IsWireId(id)) co_return ToResponse(MalformedId());
  const auto removed = co_await door.services.turns.Remove(caller.owner, ResponseId(id));
  if (!removed && removed.error().code() == ErrorCode::kNotFound) {
    co_return ToResponse(NoResponse(id));
  }
  if (!removed && removed.error().code() == ErrorCode::kFailedPrecondition) {
    co_return ToResponse(InvalidValue(
        "response_id", "Cannot delete a response that is in progress; cancel it first."));
  }
  if (!removed) co_return ToResponse(FromError(removed.error()));
  co_return net::JsonResponse(200, JsonObject()
                                       .Text("id", id)
                                       .Text("object", "response.deleted")
                                       .Flag("deleted", true)
                                       .Finish());
}

asio::awaitable<net::Response> ListInputItems(const Door& door, Caller caller,
                                              net::Request request) {
  ApiError refusal{.message = {}};
  const auto query = ReadListQuery(request, refusal);
  if (!query) co_return ToResponse(refusal);
  Found found = co_await FindResponse(door, caller.owner, request.Parameter("id"));
  if (auto* error = std::get_if<ApiError>(&found)) co_return ToResponse(*error);
  TurnView& turn = std::get<TurnView>(found);
  for (TurnItem& item : turn.input) item.id = ItemWireId(item.id, turn.id.str());
  const auto page = PageOf(std::move(turn.input), *query);
  if (!page) co_return ToResponse(NoItem(query->after));
  co_return net::JsonResponse(200, ListJson(*page, {}));
}

}  // namespace caisson::responses
