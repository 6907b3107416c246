// ParseJson on arbitrary text: never crashes, and accepted text can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wire/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = caisson::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!value) return 0;
  const auto text = caisson::ToJson(*value);
  if (!text) return 0;  // Ints of more than kMaxJsonDigits digits are read, but not written.
  const auto again = caisson::ParseJson(*text);
  if (!again || !(*again == *value)) std::abort();
  return 0;
}
