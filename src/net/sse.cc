#include "net/sse.h"

#include <algorithm>
#include <string_view>

namespace caisson::net {

std::string ToText(const Event& event) {
  std::string text;
  if (!event.name.empty()) text.append("event: ").append(event.name).append("\n");
  if (!event.id.empty()) text.append("id: ").append(event.id).append("\n");
  // A reader ends lines at \n, \r and \r\n.
  std::string_view rest = event.data;
  for (bool more = true; more;) {
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    text.append("data: ").append(rest.substr(0, end)).append("\n");
    more = end < rest.size();
    const std::size_t line_end = rest.substr(end).starts_with("\r\n") ? 2 : 1;
    rest.remove_prefix(std::min(end + line_end, rest.size()));
  }
  return text + "\n";
}

asio::awaitable<Result<EventStream>> EventStream::Open(Exchange& exchange, Headers headers) {
  headers.Add("Content-Type", "text/event-stream");
  headers.Add("Cache-Control", "no-cache");
  headers.Add("X-Accel-Buffering", "no");
  auto body = co_await exchange.Stream({.headers = std::move(headers)}, {.keep_alive = ":\n\n"});
  if (!body) co_return std::move(body).error();
  co_return EventStream(*std::move(body));
}

}  // namespace caisson::net
