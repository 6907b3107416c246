#include "store/health.h"

namespace caisson {

bool IsStoreFailure(const Error& error) {
  return error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kNoSpace;
}

void StoreHealth::OnFailure(const Error& error) {
  Change(error);
}

void StoreHealth::OnWritten() {
  Change(std::nullopt);
}

void StoreHealth::Change(const std::optional<Error>& problem) {
  Listener listener;
  {
    auto state = state_.Lock();
    if (!problem) state->written_at = std::chrono::steady_clock::now();
    if (problem) {
      state->failure = problem;
      state->failed_at = std::chrono::steady_clock::now();
    }
    // Small writes may succeed while a large one waits for room, so the problem persists.
    if (!problem && waiting_ > 0) return;
    if (state->problem.has_value() != problem.has_value()) listener = state->listener;
    state->problem = problem;
  }
  if (listener) listener(problem);
}

bool StoreHealth::WrittenWithin(std::chrono::nanoseconds age) const {
  auto state = state_.Lock();
  return !state->problem && state->written_at &&
         std::chrono::steady_clock::now() - *state->written_at < age;
}

std::optional<Error> StoreHealth::FailedWithin(std::chrono::nanoseconds age) const {
  auto state = state_.Lock();
  if (!state->failure || std::chrono::steady_clock::now() - state->failed_at >= age) {
    return std::nullopt;
  }
  return state->failure;
}

}  // namespace caisson
