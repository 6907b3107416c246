#include "config/toml_document.h"

#include <string>
#include <utility>

#include "config/table_reader.h"

namespace caisson {
namespace {

Error At(std::string_view file_name, std::uint32_t line, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument,
               std::string(file_name) + ":" + std::to_string(line) + ": " + std::string(what));
}

// Returns false if there are too many parts. ToValue has bounded the depth.
bool Locate(const toml::node& node, const std::string& pointer, LocatedValue& located) {
  if (located.lines.size() >= kMaxLocatedParts) return false;
  located.lines.emplace(pointer, node.source().begin.line);
  if (const toml::array* array = node.as_array()) {
    std::size_t index = 0;
    for (const toml::node& item : *array) {
      if (!Locate(item, pointer + "/" + std::to_string(index++), located)) return false;
    }
  } else if (const toml::table* table = node.as_table()) {
    for (const auto& [key, item] : *table) {
      const std::string inner = pointer + PointerStep(key.str());
      if (!Locate(item, inner, located)) return false;
    }
  }
  return true;
}

}  // namespace

Result<LocatedValue> ParseLocatedToml(std::string_view text, std::string_view file_name) {
  if (text.size() > kMaxLocatedBytes) return At(file_name, 1, "the file is longer than 1 MiB");
  toml::table document;
  try {
    document = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return At(file_name, error.source().begin.line, error.description());
  }
  auto value = ToValue(document);
  if (!value) {
    return At(file_name, 1, "dates, times, infinite numbers and very deep tables are not allowed");
  }
  LocatedValue located{.value = *std::move(value)};
  if (!Locate(document, "", located)) {
    return At(file_name, 1, "the file has more than 100,000 parts");
  }
  return located;
}

}  // namespace caisson
