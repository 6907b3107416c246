#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/wasm/worker/saved_cell.h"

// A damaged blob is refused or decodes to views of itself; pages never land outside the memory. The
// identity is prepended, so that the fuzzer need not guess it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace caisson::worker;  // NOLINT(google-build-using-namespace)
  static const std::array<std::uint8_t, 20> build_id{};
  static const std::array<std::uint8_t, 32> base_hash{};
  std::string blob = "CAISCEL1" + std::string(sizeof build_id + sizeof base_hash, '\0');
  blob.append(reinterpret_cast<const char*>(data), size);
  auto fields = DecodeSaved({build_id, base_hash},
                            {reinterpret_cast<const std::uint8_t*>(blob.data()), blob.size()});
  if (!fields) return 0;
  std::vector<std::uint8_t> memory(16 * 4096);
  (void)ApplyChangedPages(fields->pages, memory).has_value();
  return 0;
}
