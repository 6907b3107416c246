#include "model/demo_model.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string_view>
#include <utility>

#include "base/spawn.h"
#include "model/demo_conversation.h"
#include "model/demo_script.h"

namespace caisson::model {
namespace {

// The deltas of one item, in order.
std::vector<Delta> DeltasOf(std::size_t index, const Item& item) {
  std::vector<Delta> deltas;
  const auto add = [&]<typename T>(std::string_view text, T) {
    for (const std::string_view piece : CutIntoWords(text)) {
      deltas.emplace_back(T{index, std::string(piece)});
    }
  };
  if (const auto* message = std::get_if<MessageItem>(&item)) {
    for (const Part& part : message->parts) {
      if (const auto* text = std::get_if<TextPart>(&part)) add(text->text, TextDelta{});
      if (const auto* refusal = std::get_if<RefusalPart>(&part)) add(refusal->text, RefusalDelta{});
    }
  } else if (const auto* reasoning = std::get_if<ReasoningItem>(&item)) {
    add(reasoning->text, ReasoningDelta{});
  } else if (const auto* call = std::get_if<ToolCallItem>(&item)) {
    deltas.emplace_back(ToolCallBegun{index, call->call_id, call->name});
    add(call->arguments, ArgumentsDelta{});
  }
  return deltas;
}

}  // namespace

asio::awaitable<Result<ModelReply>> DemoModel::Generate(ModelRequest request, OnDelta on_delta) {
  co_await asio::this_coro::throw_if_cancelled(false);
  auto written = WriteDemoReply(request);
  if (!written) co_return std::move(written).error();
  ModelReply& reply = written->reply;
  const auto pause = written->pause.count() > 0 ? written->pause : pause_;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    for (const Delta& delta : DeltasOf(i, reply.items[i])) {
      if (pause.count() > 0) {
        timer.expires_after(pause);
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
      }
      if (co_await IsCancelled()) {
        co_return Error(ErrorCode::kCancelled, "the reply was cancelled");
      }
      if (on_delta) on_delta(delta);
    }
  }
  co_return std::move(reply);
}

}  // namespace caisson::model
