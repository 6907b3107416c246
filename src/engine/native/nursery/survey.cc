#include "engine/native/nursery/survey.h"

namespace caisson::nursery {

std::optional<Survey> Survey::Of(std::string_view bytes) {
  Survey survey;
  if (bytes.size() < sizeof survey.header_) return std::nullopt;
  survey.header_ = Take<wire::SurveyHeader>(bytes);
  survey.mappings_ = bytes;
  for (std::uint32_t i = 0; i < survey.header_.mappings; ++i) {
    if (bytes.size() < sizeof(wire::SurveyedMapping)) return std::nullopt;
    const auto mapping = Take<wire::SurveyedMapping>(bytes);
    if (bytes.size() < mapping.path_length) return std::nullopt;
    bytes.remove_prefix(mapping.path_length);
  }
  if (!bytes.empty()) return std::nullopt;
  return survey;
}

}  // namespace caisson::nursery
