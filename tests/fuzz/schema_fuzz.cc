// A hostile schema, and a hostile value after the first NUL: compiling and checking end and are
// consistent.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/schema.h"
#include "tools/signature.h"
#include "wire/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  auto document = caisson::ParseJson(input.substr(0, end));
  if (!document) return 0;
  const auto schema = caisson::Schema::Compile(*std::move(document));
  if (!schema) return 0;
  (void)caisson::MakeSignature("f", "", *schema, &*schema).Text();
  const auto value = caisson::ParseJson(end == input.npos ? "" : input.substr(end + 1));
  if (!value) return 0;
  const auto problems = schema->Check(*value);
  const auto fits = schema->Fits(*value);
  if (fits && *fits != problems.empty()) std::abort();
  return 0;
}
