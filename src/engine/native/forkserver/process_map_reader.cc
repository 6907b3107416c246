#include "engine/native/forkserver/process_map_reader.h"

namespace caisson::forkserver {

std::optional<ProcessMapReader> ProcessMapReader::Of(std::string_view bytes) {
  ProcessMapReader process_map;
  if (bytes.size() < sizeof process_map.header_) return std::nullopt;
  process_map.header_ = Take<wire::ProcessMapHeader>(bytes);
  process_map.mappings_ = bytes;
  for (std::uint32_t i = 0; i < process_map.header_.mappings; ++i) {
    if (bytes.size() < sizeof(wire::ProcessMapEntry)) return std::nullopt;
    const auto mapping = Take<wire::ProcessMapEntry>(bytes);
    if (bytes.size() < mapping.path_length) return std::nullopt;
    bytes.remove_prefix(mapping.path_length);
  }
  if (!bytes.empty()) return std::nullopt;
  return process_map;
}

}  // namespace caisson::forkserver
