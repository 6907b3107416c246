// Lists of items, in pages.
//
//   {"object":"list","data":[…],"first_id":"msg_…","last_id":"msg_…","has_more":false}
//
// Trust     The query comes from the client; the limit is bounded.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "agent/turn.h"
#include "net/http_message.h"
#include "protocol/responses/api_error.h"
#include "protocol/responses/item_json.h"

namespace caisson::responses {

struct ListQuery {
  std::size_t limit = 20;  // 1 to 100.
  enum class Order { kOldestFirst, kNewestFirst };
  Order order = Order::kNewestFirst;
  std::string after{};  // The id of the last item of the previous page.
};

std::optional<ListQuery> ReadListQuery(const net::Request& request, ApiError& refusal);

struct ItemPage {
  std::vector<TurnItem> items;
  bool has_more = false;
};
// `items`: oldest first. Returns nullopt if `after` is not among them.
std::optional<ItemPage> PageOf(std::vector<TurnItem> items, const ListQuery& query);

std::string ListJson(const ItemPage& page, const ImageUrls& images);

}  // namespace caisson::responses
