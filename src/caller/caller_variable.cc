#include "caller/caller_variable.h"

namespace caisson {
namespace {

constexpr std::array<std::string_view, kCallerVariables> kNames = {
    "PLATFORM",
    "SOURCE",
    "CHAT_ID",
    "CHAT_TYPE",
    "CHAT_NAME",
    "THREAD_ID",
    "USER_ID",
    "USER_ID_ALT",
    "USER_NAME",
    "SCOPE_ID",
    "KEY",
    "ID",
    "UI_ID",
    "MESSAGE_ID",
    "PROFILE",
    "PARENT_CHAT_ID",
    "PRINCIPAL",
    "TRANSPORT",
    "CRON",
    "DELIVER_PLATFORM",
    "DELIVER_CHAT_ID",
    "DELIVER_THREAD_ID",
    "JOB_ID",
    "JOB_ORIGIN_USER_ID",
    "JOB_ORIGIN_PLATFORM",
};
static_assert(static_cast<std::size_t>(CallerVariable::kJobOriginPlatform) + 1 == kNames.size());

}  // namespace

const std::string& EnvironmentName(CallerVariable variable) {
  static const auto kFullNames = [] {
    std::array<std::string, kCallerVariables> names;
    for (std::size_t i = 0; i < names.size(); ++i) {
      names[i] = std::string(kSessionPrefix) + std::string(kNames[i]);
    }
    return names;
  }();
  return kFullNames[static_cast<std::size_t>(variable)];
}

}  // namespace caisson
