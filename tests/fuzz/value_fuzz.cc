// DecodeValue on arbitrary bytes: never crashes, and accepted values are stable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/value.h"

// Compares encodings, not values: NaN is not equal to itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto value = caisson::DecodeValue(bytes);
  if (!value) return 0;
  std::string once;
  if (!caisson::EncodeValue(*value, once)) std::abort();
  const auto again = caisson::DecodeValue(once);
  std::string twice;
  if (!again || !caisson::EncodeValue(*again, twice) || once != twice) std::abort();
  (void)caisson::ToJson(*value);
  return 0;
}
