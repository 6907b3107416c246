#include "runs/run_news.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/low_priority_pool.h"
#include "runs/journal/outcome_record.h"

namespace caisson {

void RunNews::Publish(const std::function<void(State&)>& change) {
  std::vector<std::shared_ptr<Wakeup>> waiting;
  {
    auto shared = shared_.Lock();
    change(shared->state);
    ++shared->state.version;
    shared->state.view.updated_at = clock_.Now();
    waiting = std::exchange(shared->waiting, {});
  }
  for (const auto& each : waiting) each->Wake();
}

std::string_view RunNews::Hear(OutputStream stream, std::string_view bytes) {
  auto shared = shared_.Lock();
  const bool out = stream == OutputStream::kStdout;
  GrowingText& text = out ? shared->state.stdout_text : shared->state.stderr_text;
  std::size_t& streamed = out ? shared->streamed_stdout : shared->streamed_stderr;
  text.Append(bytes);
  const std::size_t unheard = text.size() - std::min(streamed, text.size());
  streamed = std::max(streamed, text.size());
  bytes.remove_prefix(bytes.size() - std::min(unheard, bytes.size()));
  return bytes;
}

asio::awaitable<Wakeup::Reason> RunNews::Await(
    std::uint64_t version, std::chrono::steady_clock::time_point deadline) const {
  auto wakeup = std::make_shared<Wakeup>();
  {
    auto shared = shared_.Lock();
    if (shared->state.version > version) co_return Wakeup::Reason::kWoken;
    shared->waiting.push_back(wakeup);
  }
  asio::steady_timer timer(co_await asio::this_coro::executor);
  if (deadline != std::chrono::steady_clock::time_point::max()) {
    timer.expires_at(deadline);
    timer.async_wait([wakeup](boost::system::error_code) { wakeup->Wake(); });
  }
  co_return co_await wakeup->Sleep();
}

asio::awaitable<RunView> WholeView(RunNews::State state,
                                   std::optional<asio::any_io_executor> pool) {
  const std::size_t bytes = state.ended() ? OutcomeBytes(*state.outcome)
                                          : state.stdout_text.size() + state.stderr_text.size();
  co_return co_await CallAside(std::move(pool), bytes, [&state] {
    RunView view = std::move(state.view);
    if (state.ended()) {
      view.outcome = *state.outcome;
    } else {
      view.outcome.stdout_text = state.stdout_text.str();
      view.outcome.stderr_text = state.stderr_text.str();
    }
    return view;
  });
}

}  // namespace caisson
