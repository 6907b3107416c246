#include "config/print.h"

#include <toml++/toml.h>

#include <sstream>

#include "config/config.h"

namespace caisson {
namespace {

constexpr std::string_view kHidden = "***";

// "postgres://ann:***@host/db?***": shows the user and the location only.
std::string WithoutSecrets(std::string url) {
  if (const std::size_t query = url.find('?'); query != url.npos) {
    url.replace(query + 1, url.npos, kHidden);
  }
  const std::size_t start = url.find("://");
  if (start == url.npos) return url;
  const std::size_t user = start + 3;
  // The last @ before the path: a password may contain one too.
  const std::size_t at = url.substr(0, url.find('/', user)).rfind('@');
  const std::size_t colon = url.find(':', user);
  if (at != url.npos && at > user && colon < at) url.replace(colon + 1, at - colon - 1, kHidden);
  return url;
}

void HideValues(toml::table& table) {
  for (auto&& [key, node] : table) {
    if (auto* text = node.as_string()) *text = std::string(kHidden);
  }
}

void Hide(toml::node& node) {
  if (auto* array = node.as_array()) {
    for (toml::node& item : *array) Hide(item);
  }
  auto* table = node.as_table();
  if (table == nullptr) return;
  for (auto&& [key, value] : *table) {
    auto* text = value.as_string();
    const bool is_url = key.str() == "url" || key.str() == "base_url";
    if (key.str() == "env" && value.is_table()) {
      HideValues(*value.as_table());
    } else if (is_url && text != nullptr) {
      *text = WithoutSecrets(text->get());
    } else {
      Hide(value);
    }
  }
}

}  // namespace

Result<std::string> PrintConfig(std::string_view text, std::string_view file_name) {
  TRY(ParseConfig(text, file_name));
  toml::table document = toml::parse(text);  // Cannot throw: it was parsed before.
  Hide(document);
  std::ostringstream out;
  out << document << "\n";
  return out.str();
}

}  // namespace caisson
