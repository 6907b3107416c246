#include "approval/decision_bell.h"

#include <vector>

namespace caisson {

DecisionBell::Listening DecisionBell::Listen(IsolationKey owner, RunId run, Listener listener) {
  auto state = state_.Lock();
  const std::uint64_t number = state->next++;
  Place place(std::move(owner), std::move(run));
  state->listeners.emplace(std::pair(place, number), std::move(listener));
  state->places.emplace(number, std::move(place));
  return {*this, number};
}

void DecisionBell::Ring(const IsolationKey& owner, const RunId& run) {
  const Place place(owner, run);
  std::vector<Listener> called;
  {
    auto state = state_.Lock();
    for (auto each = state->listeners.lower_bound({place, 0});
         each != state->listeners.end() && each->first.first == place; ++each) {
      called.push_back(each->second);
    }
  }
  for (const Listener& listener : called) listener();
}

void DecisionBell::Forget(std::uint64_t number) {
  auto state = state_.Lock();
  auto place = state->places.extract(number);
  state->listeners.erase({std::move(place.mapped()), number});
}

}  // namespace caisson
