#include "context/session_context.h"

#include <unistd.h>

namespace caisson {

EnvironmentMap CaptureEnvironment() {
  EnvironmentMap environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == text.npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

void SessionContext::Bind(const SessionBinding& binding) {
  // First, so that no child of another task started meanwhile still trusts the start environment.
  host_->Engage();
  for (const SessionVariable variable : AllSessionVariables()) {
    if (IsBoundBySession(variable)) Set(variable, "");
  }
  slots_.values[static_cast<std::size_t>(SessionVariable::kCron)].reset();
  for (const auto& [variable, value] : binding.values) Set(variable, value);
  slots_.async_delivery = binding.async_delivery;
}

void SessionContext::Clear() {
  for (const SessionVariable variable : AllSessionVariables()) {
    if (variable <= SessionVariable::kCron) Set(variable, "");
  }
  slots_.async_delivery.reset();
}

void SessionContext::Reset() {
  slots_ = Slots();
}

void SessionContext::Set(SessionVariable variable, std::string value) {
  slots_.values[static_cast<std::size_t>(variable)] = std::move(value);
}

void SessionContext::DeclareStateless() {
  slots_.async_delivery = AsyncDelivery::kUnsupported;
}

std::string SessionContext::Get(SessionVariable variable, std::string_view fallback) const {
  if (const auto& said = slot(variable)) return *said;
  if (!host_->engaged()) {
    const auto& start = host_->start_environment();
    if (const auto found = start.find(EnvironmentName(variable)); found != start.end()) {
      return found->second;
    }
  }
  return std::string(fallback);
}

SessionContext SessionContext::Fork() const {
  SessionContext child(*host_);
  child.slots_ = slots_;
  return child;
}

}  // namespace caisson
