// ParseHttpUrl on arbitrary text: accepted text is read in the same way when it is written out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/http/url.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto url = caisson::ParseHttpUrl(text);
  if (url) {
    const auto again = caisson::ParseHttpUrl(url->Text());
    if (!again || !(*again == *url)) std::abort();
  }
  const auto base = caisson::ParseHttpUrl("https://a.example:444/v1/x?y");
  const auto moved = caisson::ResolveLocation(*base, text);
  if (moved && !caisson::ParseHttpUrl(moved->Text())) std::abort();
  return 0;
}
