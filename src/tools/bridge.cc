#include "tools/bridge.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cassert>
#include <exception>
#include <vector>

namespace caisson {
namespace {

// What the code gets for a call that was not done.
ToolAnswer Refusal(const Error& error) {
  if (error.code() == ErrorCode::kPermissionDenied) return ToolDenied{.message = error.message()};
  return ToRaised(error);
}

}  // namespace

ToolBridge::ToolBridge(Cell& cell, std::shared_ptr<const ToolSet> tools, BridgeOptions options)
    : cell_(cell),
      tools_(std::move(tools)),
      options_(std::move(options)),
      run_(options_.trace),
      idle_(cell.executor(), asio::steady_timer::time_point::max()) {}

ToolBridge::~ToolBridge() {
  assert(under_way_.empty());  // Close() was not awaited.
}

void ToolBridge::OnOutput(OutputStream stream, std::string_view bytes) {
  if (options_.on_output) options_.on_output(stream, bytes);
}

void ToolBridge::OnCall(ToolCall call) {
  if (closed_) return;
  const std::uint32_t seq = call.seq;
  const Tool* tool = tools_->Find(call.tool);
  if (tool == nullptr) return Answer(seq, tools_->NoSuchTool(call.tool));
  if (tool->is_immediate()) {
    return Answer(seq, tool->InvokeNow(ToInvocation(std::move(call)), run_));
  }
  if (under_way_.size() < options_.side_by_side) return Begin(*tool, std::move(call));
  in_line_.emplace_back(tool, std::move(call));
}

Invocation ToolBridge::ToInvocation(ToolCall call) const {
  return {.positional = std::move(call.positional),
          .keywords = std::move(call.keywords),
          .consent = options_.consent};
}

void ToolBridge::Begin(const Tool& tool, ToolCall call) {
  const auto place = under_way_.emplace(under_way_.end());
  asio::co_spawn(
      cell_.executor(), Perform(tool, std::move(call)),
      asio::bind_cancellation_slot(
          place->stop.slot(),
          // What is thrown is the cancellation of Close(): tools themselves do not throw.
          [this, place](const std::exception_ptr&) { Ended(place); }));
}

asio::awaitable<void> ToolBridge::Perform(const Tool& tool, ToolCall call) {
  const std::uint32_t seq = call.seq;
  Answer(seq, co_await tool.InvokeRaw(ToInvocation(std::move(call)), run_));
}

void ToolBridge::Ended(std::list<UnderWay>::iterator place) {
  under_way_.erase(place);
  if (!in_line_.empty()) {
    auto [tool, call] = std::move(in_line_.front());
    in_line_.pop_front();
    Begin(*tool, std::move(call));
  } else if (under_way_.empty()) {
    idle_.cancel();
  }
}

void ToolBridge::Answer(std::uint32_t seq, Result<ToolAnswer> answer) {
  const auto sent = cell_.Answer(seq, answer ? *std::move(answer) : Refusal(answer.error()));
  // An answer that is too long or too deep to be sent must not leave the code waiting for ever. If the
  // run has ended meanwhile this is refused too, and nobody minds.
  if (!sent) static_cast<void>(cell_.Answer(seq, ToRaised(sent.error())));
}

asio::awaitable<void> ToolBridge::Close() {
  closed_ = true;
  in_line_.clear();
  // A call that ends at once leaves the list while we go through it.
  for (auto call = under_way_.begin(); call != under_way_.end();) {
    (call++)->stop.emit(asio::cancellation_type::terminal);
  }
  while (!under_way_.empty()) co_await idle_.async_wait(asio::as_tuple(asio::use_awaitable));
}

}  // namespace caisson
