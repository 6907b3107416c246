#include "protocol/responses/conversation_routes.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "base/json_object.h"
#include "base/low_priority_pool.h"
#include "protocol/responses/api_error.h"
#include "protocol/responses/create_request.h"
#include "protocol/responses/item_list.h"
#include "protocol/responses/wire_id.h"

namespace caisson::responses {
namespace {

ApiError Failure(const Error& error, std::string_view id) {
  return error.code() == ErrorCode::kNotFound ? NoConversation(id) : FromError(error);
}

std::string ConversationJson(const ConversationView& conversation) {
  const auto since = conversation.created_at.time_since_epoch();
  return JsonObject()
      .Text("id", conversation.id.str())
      .Text("object", "conversation")
      .Number("created_at", std::chrono::duration_cast<std::chrono::seconds>(since).count())
      .Put("metadata", conversation.door_data.empty() ? "{}" : conversation.door_data)
      .Finish();
}

std::optional<ApiError> MalformedId(const std::string& id) {
  if (IsWireId(id)) return std::nullopt;
  return InvalidValue("conversation_id",
                      "A conversation id has 1 to 128 letters, digits, '_' and '-'.");
}

using Body = std::variant<ConversationRequest, ApiError>;

asio::awaitable<Body> ReadBody(const Door& door, const net::Request& request) {
  ApiError refusal = InvalidValue("", "The body is not a request for a conversation.");
  auto body = co_await CallAside(door.services.cpu_pool, request.body.size(),
                                 [&] { return ReadConversationRequest(request.body, refusal); });
  if (!body) co_return refusal;
  co_return *std::move(body);
}

// Returns the page of these items.
asio::awaitable<net::Response> ShowItems(const Door& door, IsolationKey owner,
                                         std::vector<TurnItem> items, ListQuery query) {
  const auto page = PageOf(std::move(items), query);
  if (!page) co_return ToResponse(NoItem(query.after));
  const ImageUrls images = co_await LoadImages(door, owner, page->items);
  co_return net::JsonResponse(200, ListJson(*page, images));
}

}  // namespace

asio::awaitable<net::Response> CreateConversation(const Door& door, Caller caller,
                                                  net::Request request) {
  Body body = co_await ReadBody(door, request);
  if (auto* error = std::get_if<ApiError>(&body)) co_return ToResponse(*error);
  auto& wanted = std::get<ConversationRequest>(body);
  const auto made =
      co_await door.services.conversations.Create(caller.owner,
                                                  {.id = ConversationId(NewWireId("conv_")),
                                                   .door_data = std::move(wanted.metadata),
                                                   .created_at = door.services.clock.Now()},
                                                  std::move(wanted.items));
  if (!made) co_return ToResponse(FromError(made.error()));
  co_return net::JsonResponse(200, ConversationJson(*made));
}

asio::awaitable<net::Response> GetConversation(const Door& door, Caller caller,
                                               net::Request request) {
  const std::string& id = request.Parameter("id");
  if (const auto malformed = MalformedId(id)) co_return ToResponse(*malformed);
  const auto found = co_await door.services.conversations.Find(caller.owner, ConversationId(id));
  if (!found) co_return ToResponse(Failure(found.error(), id));
  co_return net::JsonResponse(200, ConversationJson(*found));
}

asio::awaitable<net::Response> DeleteConversation(const Door& door, Caller caller,
                                                  net::Request request) {
  const std::string& id = request.Parameter("id");
  if (const auto malformed = MalformedId(id)) co_return ToResponse(*malformed);
  const auto removed =
      co_await door.services.conversations.Remove(caller.owner, ConversationId(id));
  if (!removed) co_return ToResponse(Failure(removed.error(), id));
  co_return net::JsonResponse(200, JsonObject()
                                       .Text("id", id)
                                       .Text("object", "conversation.deleted")
                                       .Flag("deleted", true)
                                       .Finish());
}

asio::awaitable<net::Response> AddConversationItems(const Door& door, Caller caller,
                                                    net::Request request) {
  const std::string& id = request.Parameter("id");
  if (const auto malformed = MalformedId(id)) co_return ToResponse(*malformed);
  Body body = co_await ReadBody(door, request);
  if (auto* error = std::get_if<ApiError>(&body)) co_return ToResponse(*error);
  auto& items = std::get<ConversationRequest>(body).items;
  const auto added =
      co_await door.services.conversations.Append(caller.owner, ConversationId(id), items);
  if (!added) co_return ToResponse(Failure(added.error(), id));
  constexpr std::size_t kAll = 10'000;
  co_return co_await ShowItems(door, caller.owner, std::move(items),
                               {.limit = kAll, .order = ListQuery::Order::kOldestFirst});
}

asio::awaitable<net::Response> ListConversationItems(const Door& door, Caller caller,
                                                     net::Request request) {
  const std::string& id = request.Parameter("id");
  if (const auto malformed = MalformedId(id)) co_return ToResponse(*malformed);
  ApiError refusal{.message = {}};
  auto query = ReadListQuery(request, refusal);
  if (!query) co_return ToResponse(refusal);
  auto items = co_await door.services.conversations.Items(caller.owner, ConversationId(id));
  if (!items) co_return ToResponse(Failure(items.error(), id));
  co_return co_await ShowItems(door, caller.owner, *std::move(items), *std::move(query));
}

asio::awaitable<net::Response> GetConversationItem(const Door& door, Caller caller,
                                                   net::Request request) {
  const std::string& id = request.Parameter("id");
  if (const auto malformed = MalformedId(id)) co_return ToResponse(*malformed);
  const std::string& given = request.Parameter("item");
  const std::string_view wanted = ParseItemWireId(given).item;
  auto items = co_await door.services.conversations.Items(caller.owner, ConversationId(id));
  if (!items) co_return ToResponse(Failure(items.error(), id));
  const auto item = std::ranges::find_if(
      *items, [&](const TurnItem& one) { return IsShown(one) && WireId(one) == wanted; });
  if (item == items->end()) co_return ToResponse(NoItem(given));
  const ImageUrls images = co_await LoadImages(door, caller.owner, {*item});
  co_return net::JsonResponse(200, ItemJson(*item, ItemStatus::kCompleted, images));
}

}  // namespace caisson::responses
