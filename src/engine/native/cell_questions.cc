#include "engine/native/cell_questions.h"

#include <dirent.h>
#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>

#include "engine/native/scratch_space.h"

namespace caisson {
namespace {

// Maximum number of answers per turn for a cell that asks in a loop.
constexpr int kAnswersPerTurn = 16;
// Minimum interval between two counts of the files of a full cell.
constexpr std::chrono::milliseconds kCountAgain{100};

std::size_t TasksOf(pid_t thread) {
  DIR* const tasks = ::opendir(("/proc/" + std::to_string(thread) + "/task").c_str());
  if (tasks == nullptr) return 0;
  std::size_t entries = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own.
  while (::readdir(tasks) != nullptr) ++entries;
  ::closedir(tasks);
  return entries - 2;  // "." and "..".
}

}  // namespace

bool CellQuestions::Answer() {
  for (int answers = 0; answers < kAnswersPerTurn; ++answers) {
    const auto question = listener_.Receive();
    if (!question) {
      pollfd ended{.fd = listener_.fd(), .events = 0, .revents = 0};
      return ::poll(&ended, 1, 0) == 0;
    }
    const bool is_thread = question->number == SYS_clone;
    if (is_thread ? MayMakeThread(question->thread) : MayMakeName()) {
      listener_.Allow(*question);
    } else {
      listener_.Refuse(*question, is_thread ? EAGAIN : ENOSPC);
    }
  }
  return true;
}

// Threads   that were allowed and do not exist yet are not counted. Each existing thread can wait
//           for at most one, so there are never more than twice as many.
bool CellQuestions::MayMakeThread(pid_t thread) const {
  const std::size_t tasks = TasksOf(thread);
  return tasks > 0 && tasks < most_.threads;
}

bool CellQuestions::MayMakeName() {
  if (names_ < most_.names) {
    ++names_;
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < full_until_) return false;
  const TreeSize size = MeasureTree(files_, most_.names);
  names_ = size.whole ? size.entries : most_.names;
  if (names_ >= most_.names) {
    full_until_ = now + kCountAgain;
    return false;
  }
  ++names_;
  return true;
}

}  // namespace caisson
