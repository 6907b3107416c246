#include "engine/native/cell_questions.h"

#include <dirent.h>
#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/tree.h"
#include "engine/native/process_id.h"

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

bool IsPipe(int number) {
#ifdef __x86_64__
  if (number == SYS_pipe) return true;
#endif
  return number == SYS_pipe2;
}

}  // namespace

CellQuestions::~CellQuestions() {
  if (budget_ != nullptr) budget_->Return(pipes_);
}

bool CellQuestions::Answer() {
  for (int answers = 0; answers < kAnswersPerTurn; ++answers) {
    const auto question = listener_.Receive();
    if (!question) {
      pollfd ended{.fd = listener_.fd(), .events = 0, .revents = 0};
      return ::poll(&ended, 1, 0) == 0;
    }
    bool may = false;
    int error_number = ENOSPC;
    if (question->number == SYS_clone) {
      may = MayMakeThread(question->thread);
      error_number = EAGAIN;
    } else if (IsPipe(question->number)) {
      may = MayMakePipe();
      error_number = ENFILE;
    } else {
      may = MayMakeName();
    }
    if (may) {
      listener_.Allow(*question);
    } else {
      listener_.Refuse(*question, error_number);
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

bool CellQuestions::MayMakePipe() {
  if (budget_ == nullptr) return false;
  const bool has_room = pipes_ < most_.pipes && budget_->Take(pipes_);
  if (!has_room) CountPipes();
  if (!has_room && (pipes_ >= most_.pipes || !budget_->Take(pipes_))) return false;
  ++pipes_;
  return true;
}

// Returns the closed pipes to the budget. A cell that holds more than half of its pipes is not
// counted again soon: it could make the host count for each call.
void CellQuestions::CountPipes() {
  const auto now = std::chrono::steady_clock::now();
  if (now < no_pipes_until_) return;
  constexpr std::size_t kStreams = 2;
  const auto pid = PidOf(process_);
  const auto open = pid ? CountOpenPipes(*pid) : std::nullopt;
  const std::size_t live = open ? *open - std::min(*open, kStreams) : pipes_;
  if (live * 2 > pipes_) no_pipes_until_ = now + kCountAgain;
  if (live >= pipes_) return;
  budget_->Return(pipes_ - live);
  pipes_ = live;
}

}  // namespace caisson
