#include "base/memory_maps.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace caisson {
namespace {

// Removes numbers and words from the front of a line.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  std::uint64_t Number(int base, char end) {
    std::uint64_t number = 0;
    const char* last = rest_.data() + rest_.size();
    const auto [at, error] = std::from_chars(rest_.data(), last, number, base);
    good_ = good_ && error == std::errc() && at != last && *at == end;
    if (good_) rest_.remove_prefix(static_cast<std::size_t>(at - rest_.data()) + 1);
    return number;
  }
  std::string_view Word() {
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    good_ = good_ && word.size() < rest_.size();
    if (good_) rest_.remove_prefix(word.size() + 1);
    return word;
  }
  std::string_view Rest() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    return rest_;
  }
  bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::optional<MemoryMapping> TakeMemoryMapping(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  Fields fields(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  MemoryMapping mapping;
  mapping.begin = fields.Number(16, '-');
  mapping.end = fields.Number(16, ' ');
  mapping.access = fields.Word().substr(0, 5);
  mapping.offset = fields.Number(16, ' ');
  const std::uint64_t major = fields.Number(16, ':');
  mapping.device = major << 32 | fields.Number(16, ' ');
  mapping.inode = fields.Number(10, ' ');
  mapping.path = fields.Rest();
  const bool is_good = fields.good() && mapping.access.size() == 4 && mapping.begin < mapping.end;
  return is_good ? std::optional(mapping) : std::nullopt;
}

Result<std::vector<MemoryMapping>> ParseMemoryMaps(std::string_view text) {
  std::vector<MemoryMapping> mappings;
  while (!text.empty()) {
    auto mapping = TakeMemoryMapping(text);
    if (!mapping) return Error(ErrorCode::kInternal, "the list of mappings is malformed");
    mappings.push_back(*std::move(mapping));
  }
  return mappings;
}

}  // namespace caisson
