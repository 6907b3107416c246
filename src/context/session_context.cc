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

SessionContext SessionContext::OfStart(SessionHost& host) {
  SessionContext context(host);
  for (const SessionVariable variable : AllSessionVariables()) {
    const auto found = host.start_.find(EnvironmentName(variable));
    if (found != host.start_.end()) context.Set(variable, found->second);
  }
  return context;
}

SessionContext SessionContext::FromRecord(SessionHost& host, const SessionRecord& record) {
  host.Engage();
  SessionContext context(host);
  for (const auto& [variable, value] : record.values) context.Set(variable, value);
  context.slots_.async_delivery = record.async_delivery;
  return context;
}

void SessionContext::Bind(const SessionBinding& binding) {
  // Must come first, so that a child that another task starts meanwhile does not use the start
  // environment.
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

SessionContext SessionContext::WithoutRequest() const {
  SessionContext lasting = Fork();
  for (const SessionVariable variable : AllSessionVariables()) {
    if (IsOfOneRequest(variable)) {
      lasting.slots_.values[static_cast<std::size_t>(variable)].reset();
    }
  }
  return lasting;
}

SessionRecord SessionContext::Record() const {
  SessionRecord record{.async_delivery = slots_.async_delivery};
  for (const SessionVariable variable : AllSessionVariables()) {
    if (const auto& said = slot(variable)) record.values.emplace_back(variable, *said);
  }
  return record;
}

}  // namespace caisson
