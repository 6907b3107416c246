#include "runs/cells/asking_keeper.h"

#include <algorithm>
#include <utility>

namespace caisson {

bool MayAsk(const ToolSet& tools) {
  return std::ranges::any_of(tools.tools(), [](const auto& tool) {
    return tool->definition().approval.mode() != Approval::Mode::kNever;
  });
}

// One question, from being asked to being answered or given up.
class AskingKeeper::Question {
 public:
  explicit Question(std::shared_ptr<AskingKeeper> observer) : observer_(std::move(observer)) {
    if (observer_->questions_++ == 0) observer_->limit_->Pause();
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question() {
    if (--observer_->questions_ == 0 && !observer_->ended_) observer_->limit_->Continue();
  }

 private:
  const std::shared_ptr<AskingKeeper> observer_;
};

ToolGate AskingKeeper::Watch(ToolGate gate) {
  return [self = shared_from_this(),
          gate = std::move(gate)](GatedCall call) -> asio::awaitable<std::optional<ToolDenied>> {
    const Question question(self);
    co_return co_await gate(std::move(call));
  };
}

void AskingKeeper::OnCell(Cell& cell, const std::optional<SessionId>& /*session*/) {
  limit_ = WallLimit::Begin(cell, wall_time_, {});
}

void AskingKeeper::OnEnd(Result<Outcome>& outcome) {
  ended_ = true;
  limit_->LetGo();
  if (outcome) limit_->Correct(*outcome);
}

asio::awaitable<void> AskingKeeper::LetGo() {
  co_return;
}

}  // namespace caisson
