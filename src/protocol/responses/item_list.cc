#include "protocol/responses/item_list.h"

#include <algorithm>
#include <charconv>

#include "base/json_object.h"

namespace caisson::responses {

std::optional<ListQuery> ReadListQuery(const net::Request& request, ApiError& refusal) {
  constexpr std::size_t kMaxLimit = 100;
  ListQuery query;
  if (const std::string* limit = request.FindQuery("limit")) {
    const char* end = limit->data() + limit->size();
    const auto parsed = std::from_chars(limit->data(), end, query.limit);
    if (parsed.ec != std::errc() || parsed.ptr != end || query.limit == 0 ||
        query.limit > kMaxLimit) {
      refusal = InvalidValue("limit", "'limit' must be a number from 1 to 100.");
      return std::nullopt;
    }
  }
  if (const std::string* order = request.FindQuery("order")) {
    if (*order != "asc" && *order != "desc") {
      refusal = InvalidValue("order", "'order' must be asc or desc.");
      return std::nullopt;
    }
    if (*order == "asc") query.order = ListQuery::Order::kOldestFirst;
  }
  if (const std::string* after = request.FindQuery("after")) query.after = *after;
  return query;
}

std::optional<ItemPage> PageOf(std::vector<TurnItem> items, const ListQuery& query) {
  std::erase_if(items, [](const TurnItem& item) { return !IsShown(item); });
  if (query.order == ListQuery::Order::kNewestFirst) std::ranges::reverse(items);
  if (!query.after.empty()) {
    const auto last = std::ranges::find_if(
        items, [&](const TurnItem& item) { return WireId(item) == query.after; });
    if (last == items.end()) return std::nullopt;
    items.erase(items.begin(), last + 1);
  }
  ItemPage page{.items = std::move(items)};
  page.has_more = page.items.size() > query.limit;
  if (page.has_more)
    page.items.erase(page.items.begin() + static_cast<std::ptrdiff_t>(query.limit),
                     page.items.end());
  return page;
}

std::string ListJson(const ItemPage& page, const ImageUrls& images) {
  std::string data = "[";
  for (const TurnItem& item : page.items) {
    AppendElement(data, ItemJson(item, ItemStatus::kCompleted, images));
  }
  const bool empty = page.items.empty();
  return JsonObject()
      .Text("object", "list")
      .Put("data", data + "]")
      .Put("first_id", empty ? "null" : JsonQuoted(WireId(page.items.front())))
      .Put("last_id", empty ? "null" : JsonQuoted(WireId(page.items.back())))
      .Flag("has_more", page.has_more)
      .Finish();
}

}  // namespace caisson::responses
