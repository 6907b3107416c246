// Canonical JSON of arbitrary values and text: never crashes; the text of a value reads back as the
// value, and text is accepted only if it is the canonical text of some value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wire/canonical_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto value = caisson::DecodeValue(bytes)) {
    if (const auto text = caisson::CanonicalJson(*value)) {
      const auto back = caisson::ParseCanonicalJson(*text);
      if (!back || *caisson::CanonicalJson(*back) != *text) std::abort();
    }
  }
  if (const auto value = caisson::ParseCanonicalJson(bytes)) {
    if (*caisson::CanonicalJson(*value) != bytes) std::abort();
  }
  return 0;
}
