#include "protocol/responses/wire_id.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace caisson::responses {
namespace {

constexpr std::string_view kApproval = "mcpr_";
constexpr std::string_view kBetween = "--";

bool IsIdCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-';
}

}  // namespace

bool IsWireId(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdBytes && std::ranges::all_of(id, IsIdCharacter);
}

std::string NewWireId(std::string_view prefix) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string id(prefix);
  for (int word = 0; word < 4; ++word) {
    std::uint32_t bits = random();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id.push_back(kDigits[bits & 15]);
  }
  return id;
}

std::string ItemWireId(std::string_view item, std::string_view response) {
  return std::string(item).append(kBetween).append(response);
}

ItemName ParseItemWireId(std::string_view id) {
  const std::size_t end = id.find(kBetween);
  if (end == id.npos) return {.item = id};
  return {.item = id.substr(0, end), .response = id.substr(end + kBetween.size())};
}

std::string ApprovalWireId(const ApprovalId& approval) {
  return std::string(kApproval) + approval.str();
}

std::optional<ApprovalId> ParseApprovalWireId(std::string_view id) {
  if (!IsWireId(id) || !id.starts_with(kApproval) || id.size() == kApproval.size()) {
    return std::nullopt;
  }
  return ApprovalId(std::string(id.substr(kApproval.size())));
}

}  // namespace caisson::responses
