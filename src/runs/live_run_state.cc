#include "runs/live_run_state.h"

#include <algorithm>
#include <array>
#include <string>

namespace caisson {
namespace {

using enum LivePhase;
using enum LiveEvent;

struct Transition {
  LivePhase from;
  LiveEvent event;
  LivePhase to;
};

constexpr std::array kTransitions = {
    Transition{kNoCell, kCellComes, kActive},
    Transition{kActive, kSettle, kSettling},
    Transition{kActive, kCellGoes, kNoCell},
    Transition{kSettling, kStore, kStoring},
    // A decision came while the store was taking the run.
    Transition{kSettling, kStored, kSettling},
    Transition{kSettling, kStoreFails, kUnstored},
    Transition{kSettling, kUnsettle, kActive},
    Transition{kUnstored, kStore, kStoring},
    Transition{kUnstored, kUnsettle, kActive},
    Transition{kStoring, kStored, kParked},
    Transition{kStoring, kStoreFails, kUnstored},
    Transition{kStoring, kGoOn, kSettling},
    Transition{kParked, kGoOn, kActive},
    Transition{kParked, kCellGoes, kNoCell},
};

}  // namespace

std::string_view ToString(LivePhase phase) {
  static constexpr std::string_view kNames[] = {"no cell",  "active",  "settling",
                                                "unstored", "storing", "parked"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::string_view ToString(LiveEvent event) {
  static constexpr std::string_view kNames[] = {"cell comes",  "settle", "store",    "stored",
                                                "store fails", "go on",  "unsettle", "cell goes"};
  return kNames[static_cast<std::size_t>(event)];
}

Result<void> LiveRunState::Apply(LiveEvent event) {
  const auto found = std::ranges::find_if(kTransitions, [&](const Transition& each) {
    return each.from == phase_ && each.event == event;
  });
  if (found == kTransitions.end()) {
    return Error(ErrorCode::kInternal, "a run that is \"" + std::string(ToString(phase_)) +
                                           "\" cannot take the step \"" +
                                           std::string(ToString(event)) + "\"");
  }
  phase_ = found->to;
  return {};
}

}  // namespace caisson
