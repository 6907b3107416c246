#include "model/retry.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace caisson::model {
namespace {

constexpr double kLongestWaitMs = 24.0 * 3600 * 1000;  // Anything longer is as long.

std::string_view HeaderOf(const HttpResponse& head, std::string_view name) {
  for (const auto& [key, value] : head.headers) {
    if (key == name) return value;
  }
  return {};
}

std::optional<double> NumberIn(std::string_view text) {
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (!is_whole || !std::isfinite(number) || number < 0) return std::nullopt;
  return number;
}

std::optional<int> IntIn(std::string_view text) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// Reads "Sun, 06 Nov 1994 08:49:37 GMT", the only form that servers write today.
std::optional<SystemTime> DateIn(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
  const auto month = std::ranges::find(kMonths, text.substr(8, 3));
  const auto day = IntIn(text.substr(5, 2));
  const auto year = IntIn(text.substr(12, 4));
  const auto hours = IntIn(text.substr(17, 2));
  const auto minutes = IntIn(text.substr(20, 2));
  const auto seconds = IntIn(text.substr(23, 2));
  if (month == kMonths.end() || !day || !year || !hours || !minutes || !seconds) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{
      std::chrono::year(*year),
      std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
      std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hours) + std::chrono::minutes(*minutes) +
         std::chrono::seconds(*seconds);
}

std::chrono::milliseconds Milliseconds(double count) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min(count, kLongestWaitMs)));
}

}  // namespace

bool IsWorthRepeating(const HttpResponse& head) {
  const std::string_view said = HeaderOf(head, "x-should-retry");
  if (said == "true" || said == "false") return said == "true";
  return head.status == 408 || head.status == 409 || head.status == 429 || head.status >= 500;
}

std::optional<std::chrono::milliseconds> AskedWait(const HttpResponse& head, SystemTime now) {
  if (const auto ms = NumberIn(HeaderOf(head, "retry-after-ms"))) return Milliseconds(*ms);
  const std::string_view after = HeaderOf(head, "retry-after");
  if (const auto seconds = NumberIn(after)) return Milliseconds(*seconds * 1000);
  const auto date = DateIn(after);
  if (!date) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(
      std::max(*date - now, SystemTime::duration(0)));
}

std::chrono::milliseconds UsualWait(std::uint32_t attempt, double jitter) {
  const double longest = std::min(500.0 * std::pow(2.0, attempt - 1), 8000.0);
  return Milliseconds(longest * (1.0 - 0.25 * std::clamp(jitter, 0.0, 1.0)));
}

}  // namespace caisson::model
