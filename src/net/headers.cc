#include "net/headers.h"

#include <algorithm>

namespace caisson::net {
namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

const std::string* Headers::Find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      fields_, [&](const Field& field) { return EqualsIgnoringCase(field.name, name); });
  return found == fields_.end() ? nullptr : &found->value;
}

std::size_t Headers::Count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      fields_, [&](const Field& field) { return EqualsIgnoringCase(field.name, name); }));
}

bool HasToken(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    if (EqualsIgnoringCase(Trimmed(item.substr(0, item.find(';'))), token)) return true;
  }
  return false;
}

bool IsFieldValue(std::string_view value) {
  return std::ranges::none_of(value, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

}  // namespace caisson::net
