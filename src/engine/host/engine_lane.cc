#include "engine/host/engine_lane.h"

#include <pthread.h>
#include <sched.h>

namespace caisson {
namespace {

EngineLane*& CurrentSlot() {
  static thread_local EngineLane* current = nullptr;
  return current;
}

}  // namespace

EngineStats EngineState::stats() const {
  return {.runs_started = runs_started.load(std::memory_order_relaxed),
          .runs_ended = runs_ended.load(std::memory_order_relaxed),
          .workers_started = workers_started.load(std::memory_order_relaxed),
          .workers_lost = workers_lost.load(std::memory_order_relaxed),
          .cells_live = admission.live(),
          .waiting = admission.waiting(),
          .refused = admission.refused()};
}

EngineLane* EngineLane::Current() {
  return CurrentSlot();
}

void EngineLane::BecomeCurrent(const std::string& name, std::optional<int> cpu) {
  CurrentSlot() = this;
  ::pthread_setname_np(::pthread_self(), name.c_str());
  if (!cpu) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<std::size_t>(*cpu), &cpus);
  // If this fails, the lane is slower but not less isolated.
  ::sched_setaffinity(0, sizeof cpus, &cpus);
}

std::vector<int> UsableCores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace caisson
