#include "tests/durable/windows.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <stop_token>
#include <thread>

namespace caisson::testing {
namespace {

std::string g_step;
Victim g_victim = Victim::kHost;
std::atomic<int> g_passes_left = 0;
std::atomic<bool> g_reached = false;

std::set<pid_t> Children() {
  std::set<pid_t> children;
  std::error_code ignored;  // Threads start and end during the scan.
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;) children.insert(pid);
  }
  return children;
}

// Returns when it is dead; its parent reaps it.
void Kill(pid_t pid) {
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | __WALL);
}

bool IsReached(const std::string& step) {
  const bool reached = step == g_step && --g_passes_left == 0;
  if (reached) g_reached = true;
  return reached;
}

}  // namespace

void SetWindow(const std::string& window, Victim victim) {
  const std::size_t colon = window.rfind(':');
  g_passes_left = std::stoi(window.substr(colon + 1));
  g_step = window.substr(0, colon);
  g_victim = victim;
}

bool PassStep(const std::string& step) {
  if (!IsReached(step)) return false;
  if (g_victim == Victim::kHost) ::kill(::getpid(), SIGKILL);
  for (const pid_t child : Children()) Kill(child);
  return true;
}

bool WindowWasReached() {
  return g_reached;
}

struct Hunt::Hunter {
  std::set<pid_t> known = Children();
  std::jthread thread{[this](const std::stop_token& enough) {
    while (!enough.stop_requested()) {
      for (const pid_t child : Children()) {
        if (!known.contains(child)) return Kill(child);
      }
    }
  }};
};

Hunt::Hunt(const std::string& step) {
  if (IsReached(step)) hunter_ = new Hunter;
}

Hunt::~Hunt() {
  delete hunter_;
}

}  // namespace caisson::testing
