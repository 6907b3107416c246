// For tests: packs files into a library image, and provides a clock and randomness that the test
// controls.
//
// Trust     Test code.
// Threads   One.
// Lifetime  The image's bytes outlive every LibraryImage over them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wasm/worker/files/file_types.h"
#include "engine/wasm/worker/files/save_format.h"

namespace caisson::worker {

// Paths without a leading slash; the directories above them are added.
inline std::string PackLibrary(const std::map<std::string, std::string>& files) {
  std::map<std::string, const std::string*> entries;
  for (const auto& [path, contents] : files) {
    entries[path] = &contents;
    for (std::size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      entries[path.substr(0, slash)] = nullptr;
    }
  }
  std::string image = "CAISLIB1";
  std::string names;
  std::string data;
  std::size_t name_bytes = 0;
  for (const auto& [path, contents] : entries) name_bytes += path.size();
  const std::size_t names_at = 12 + 28 * entries.size();
  ByteWriter out(image);
  out.Put(static_cast<std::uint32_t>(entries.size()));
  for (const auto& [path, contents] : entries) {
    const std::size_t size = contents == nullptr ? 0 : contents->size();
    out.Put(static_cast<std::uint32_t>(names_at + names.size()));
    out.Put(static_cast<std::uint32_t>(path.size()));
    out.Put(static_cast<std::uint64_t>(names_at + name_bytes + data.size()));
    out.Put(static_cast<std::uint64_t>(size));
    out.Put(static_cast<std::uint32_t>(contents == nullptr ? 1 : 0));
    names += path;
    if (contents != nullptr) data += *contents;
  }
  return image + names + data;
}

inline std::span<const std::uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class FixedServices : public FileServices {
 public:
  std::uint64_t Now() override { return now; }
  void Random(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out) byte = ++last_random;
  }

  std::uint64_t now = 5'000;
  std::uint8_t last_random = 0;
};

}  // namespace caisson::worker
