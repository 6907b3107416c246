#include "server/demo.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "wire/object.h"

namespace caisson {
namespace {

constexpr std::string_view kWeather = "weather";
constexpr std::string_view kSendEmail = "send_email";

// Returns the schema of an object whose properties are all required texts.
Value TextsSchema(std::initializer_list<std::string_view> names) {
  Dict properties;
  List required;
  for (const std::string_view name : names) {
    properties.items.emplace_back(std::string(name), Object({{"type", "string"}}));
    required.items.emplace_back(std::string(name));
  }
  return Object({{"type", "object"}, {"properties", properties}, {"required", required}});
}

std::string TextOf(const Dict& arguments, std::string_view name) {
  const Value* value = arguments.Find(name);
  const auto* text = value == nullptr ? nullptr : value->If<std::string>();
  return text == nullptr ? "" : *text;
}

// The same city always has the same weather.
Value Weather(const Dict& arguments) {
  constexpr std::array<std::string_view, 4> kSkies = {"sunny", "cloudy", "rainy", "windy"};
  const std::string city = TextOf(arguments, "city");
  std::size_t sum = 0;
  for (const char c : city) sum += static_cast<unsigned char>(c);
  return Object({{"city", city},
                 {"celsius", static_cast<std::int64_t>(sum % 30)},
                 {"sky", std::string(kSkies.at(sum % kSkies.size()))}});
}

Value SendEmail(const Dict& arguments) {
  return Value("sent to " + TextOf(arguments, "to") + " (a demo: nothing left this machine)");
}

template <typename T>
Result<void> CheckFree(std::string_view what, const std::vector<T>& items, std::string_view name) {
  if (std::ranges::find(items, name, &T::name) == items.end()) return {};
  return Error(ErrorCode::kInvalidArgument, "the configuration has an entry " + std::string(what) +
                                                " named \"" + std::string(name) +
                                                "\" already; rename it to use --demo");
}

}  // namespace

Result<void> AddDemo(Config& config) {
  TRY(CheckFree("[[model]]", config.models, kDemo));
  TRY(CheckFree("[[agent]]", config.agents, kDemo));
  TRY(CheckFree("[[workflow]]", config.workflows, kDemo));
  TRY(CheckFree("[[tool]]", config.tools, kWeather));
  TRY(CheckFree("[[tool]]", config.tools, kSendEmail));
  if (!config.store.is_configured) config.store.url = "memory:";
  config.models.push_back({.name = std::string(kDemo), .kind = ModelConfig::Kind::kDemo});
  config.agents.push_back({.name = std::string(kDemo),
                           .description = "A scripted agent, to try Caisson without a model.",
                           .model = std::string(kDemo),
                           .tools = {std::string(kWeather), std::string(kSendEmail)}});
  return {};
}

Result<std::vector<std::shared_ptr<const Tool>>> DemoTools() {
  TRY_ASSIGN(auto weather,
             Tool::Make({.name = std::string(kWeather),
                         .description = "Returns the weather of a city. The demo makes it up.",
                         .input_schema = TextsSchema({"city"})},
                        Inline(Weather)));
  TRY_ASSIGN(auto send, Tool::Make({.name = std::string(kSendEmail),
                                    .description = "Sends an email. The demo sends nothing.",
                                    .input_schema = TextsSchema({"to", "subject", "body"}),
                                    .approval = Approval::Always()},
                                   Inline(SendEmail)));
  return std::vector<std::shared_ptr<const Tool>>{std::move(weather), std::move(send)};
}

}  // namespace caisson
