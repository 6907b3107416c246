#include "engine/native/nursery/survey.h"

namespace caisson::nursery {
namespace {

// The first `count` records of `rest`, each a T and as much text as it says.
template <typename T, typename Length>
std::optional<std::string_view> TakeRecords(std::string_view& rest, std::uint32_t count,
                                            Length length) {
  const std::string_view all = rest;
  for (std::uint32_t i = 0; i < count; ++i) {
    T record;
    if (rest.size() < sizeof record) return std::nullopt;
    std::memcpy(&record, rest.data(), sizeof record);
    rest.remove_prefix(sizeof record);
    if (rest.size() < length(record)) return std::nullopt;
    rest.remove_prefix(length(record));
  }
  return all.substr(0, all.size() - rest.size());
}

}  // namespace

std::optional<Survey> Survey::Of(std::string_view bytes) {
  Survey survey;
  if (bytes.size() < sizeof survey.header_) return std::nullopt;
  survey.header_ = Take<wire::SurveyHeader>(bytes);
  const std::size_t pages = survey.header_.pages * sizeof(wire::SurveyedPages);
  if (bytes.size() < pages) return std::nullopt;
  survey.pages_ = {reinterpret_cast<const wire::SurveyedPages*>(bytes.data()),
                   survey.header_.pages};
  bytes.remove_prefix(pages);
  const auto mappings = TakeRecords<wire::SurveyedMapping>(
      bytes, survey.header_.mappings, [](const auto& record) { return record.path_length; });
  const auto descriptors = TakeRecords<wire::SurveyedDescriptor>(
      bytes, survey.header_.descriptors, [](const auto& record) { return record.target_length; });
  if (!mappings || !descriptors || !bytes.empty()) return std::nullopt;
  survey.mappings_ = *mappings;
  survey.descriptors_ = *descriptors;
  return survey;
}

}  // namespace caisson::nursery
