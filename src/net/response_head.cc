#include "net/response_head.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace caisson::net {
namespace {

// "Sun, 06 Nov 1994 08:49:37 GMT", independent of the locale.
std::string HttpDate(std::time_t now) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::string(kDays[utc.tm_wday]) + ", " + two(utc.tm_mday) + " " + kMonths[utc.tm_mon] +
         " " + std::to_string(1900 + utc.tm_year) + " " + two(utc.tm_hour) + ":" + two(utc.tm_min) +
         ":" + two(utc.tm_sec) + " GMT";
}

}  // namespace

bool IsSafeHead(const Response& response) {
  return std::ranges::all_of(response.headers, [](const Headers::Field& field) {
    return !field.name.empty() && IsFieldValue(field.name) && IsFieldValue(field.value);
  });
}

std::string ResponseHead(const Response& response, const Headers& more, KeepAlive keep_alive,
                         std::string_view framing) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " ";
  text.append(ReasonPhrase(response.status)).append("\r\n");
  const auto put = [&](std::string_view name, std::string_view value) {
    text.append(name).append(": ").append(value).append("\r\n");
  };
  put("Date", HttpDate(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  for (const Headers::Field& field : response.headers) put(field.name, field.value);
  for (const Headers::Field& field : more) put(field.name, field.value);
  put("X-Content-Type-Options", "nosniff");
  put("Connection", keep_alive == KeepAlive::kYes ? "keep-alive" : "close");
  return text.append(framing).append("\r\n");
}

}  // namespace caisson::net
