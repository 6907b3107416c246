#include "bench/lane_work.h"

namespace caisson::bench {

void EchoEvents::OnOutput(OutputStream /*stream*/, std::string_view /*bytes*/) {}

void EchoEvents::OnCall(ToolCall call) {
  static_cast<void>(Unpack(call).has_value());
  auto& arguments = call.positional.items;
  Value answer = arguments.empty() ? Value() : std::move(arguments.front());
  // The call was just made, so the answer can be refused only if the run has ended.
  static_cast<void>(cell->Answer(call.seq, std::move(answer)));
}

asio::awaitable<Result<Outcome>> RunFresh(Engine& engine, RunRequest request) {
  auto cell = co_await engine.Open({.owner = OwnerId("bench")});
  if (!cell) co_return std::move(cell).error();
  EchoEvents events;
  events.cell = cell->get();
  co_return co_await (*cell)->Run(std::move(request), events, AfterRun::kDiscard);
}

Result<void> Expect(const Outcome& outcome, const std::optional<Value>& result,
                    std::string_view output) {
  if (outcome.status == RunStatus::kCompleted && outcome.result == result &&
      outcome.stdout_text == output) {
    return {};
  }
  return Error(ErrorCode::kInternal, "a run went wrong: " + ToJson(outcome, FileData::kOmit));
}

}  // namespace caisson::bench
