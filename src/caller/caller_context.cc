#include "caller/caller_context.h"

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

CallerContext CallerContext::OfStart(CallerHost& host) {
  CallerContext context(host);
  for (const CallerVariable variable : AllCallerVariables()) {
    const auto found = host.start_.find(EnvironmentName(variable));
    if (found != host.start_.end()) context.Set(variable, found->second);
  }
  return context;
}

CallerContext CallerContext::FromRecord(CallerHost& host, const CallerRecord& record) {
  host.Engage();
  CallerContext context(host);
  for (const auto& [variable, value] : record.values) context.Set(variable, value);
  context.slots_.async_delivery = record.async_delivery;
  return context;
}

void CallerContext::Bind(const CallerBinding& binding) {
  // Must come first, so that a child that another task starts meanwhile does not use the start
  // environment.
  host_->Engage();
  for (const CallerVariable variable : AllCallerVariables()) {
    if (IsBoundBySession(variable)) Set(variable, "");
  }
  slots_.values[static_cast<std::size_t>(CallerVariable::kCron)].reset();
  for (const auto& [variable, value] : binding.values) Set(variable, value);
  slots_.async_delivery = binding.async_delivery;
}

void CallerContext::Clear() {
  for (const CallerVariable variable : AllCallerVariables()) {
    if (variable <= CallerVariable::kCron) Set(variable, "");
  }
  slots_.async_delivery.reset();
}

void CallerContext::Reset() {
  slots_ = Slots();
}

void CallerContext::Set(CallerVariable variable, std::string value) {
  slots_.values[static_cast<std::size_t>(variable)] = std::move(value);
}

void CallerContext::DeclareStateless() {
  slots_.async_delivery = AsyncDelivery::kUnsupported;
}

std::string CallerContext::Get(CallerVariable variable, std::string_view fallback) const {
  if (const auto& said = slot(variable)) return *said;
  if (!host_->engaged()) {
    const auto& start = host_->start_environment();
    if (const auto found = start.find(EnvironmentName(variable)); found != start.end()) {
      return found->second;
    }
  }
  return std::string(fallback);
}

CallerContext CallerContext::Fork() const {
  CallerContext child(*host_);
  child.slots_ = slots_;
  return child;
}

CallerContext CallerContext::WithoutRequest() const {
  CallerContext lasting = Fork();
  for (const CallerVariable variable : AllCallerVariables()) {
    if (IsOfOneRequest(variable)) {
      lasting.slots_.values[static_cast<std::size_t>(variable)].reset();
    }
  }
  return lasting;
}

CallerRecord CallerContext::Record() const {
  CallerRecord record{.async_delivery = slots_.async_delivery};
  for (const CallerVariable variable : AllCallerVariables()) {
    if (const auto& said = slot(variable)) record.values.emplace_back(variable, *said);
  }
  return record;
}

}  // namespace caisson
