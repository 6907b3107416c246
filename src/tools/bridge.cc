#include "tools/bridge.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxMessageBytes = 16u << 10;

bool HoldsOnlyText(const Value& value) {
  const auto all = [](const std::vector<Value>& items) {
    return std::ranges::all_of(items, HoldsOnlyText);
  };
  if (const auto* text = value.If<std::string>()) return IsUtf8(*text);
  if (const auto* list = value.If<List>()) return all(list->items);
  if (const auto* tuple = value.If<Tuple>()) return all(tuple->items);
  const auto* dict = value.If<Dict>();
  return dict == nullptr || std::ranges::all_of(dict->items, [](const auto& item) {
           return HoldsOnlyText(item.first) && HoldsOnlyText(item.second);
         });
}

std::string Readable(std::string_view text) {
  std::string out;
  while (!text.empty() && out.size() < kMaxMessageBytes) {
    const std::size_t size = CharacterSize(text);
    out += size == 0 ? "?" : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

// What the guest can take.
ToolAnswer Sendable(ToolAnswer answer) {
  if (auto* raised = std::get_if<ToolRaised>(&answer)) {
    return ToolRaised{.type = Readable(raised->type), .message = Readable(raised->message)};
  }
  if (auto* denied = std::get_if<ToolDenied>(&answer)) return ToolDenied{Readable(denied->message)};
  if (HoldsOnlyText(std::get<Value>(answer))) return answer;
  return ToolRaised{.type = "ValueError",
                    .message = "the tool answered with text that is not UTF-8"};
}

ToolAnswer Flatten(Result<ToolAnswer> answer) {
  if (!answer) return ToRaised(answer.error());
  return *std::move(answer);
}

}  // namespace

// The calls of the run and what is done about them.
class ToolBridge::Traffic : public std::enable_shared_from_this<Traffic> {
 public:
  Traffic(Cell& cell, std::shared_ptr<const ToolSet> tools, ToolBridgeOptions options)
      : cell_(&cell),
        executor_(cell.executor()),
        tools_(std::move(tools)),
        options_(std::move(options)),
        run_(options_.trace, options_.session),
        all_landed_(executor_, asio::steady_timer::time_point::max()) {}

  const ToolBridgeOptions& options() const { return options_; }

  void Take(ToolCall call) {
    const Tool* tool = tools_->Find(call.tool);
    if (tool == nullptr) return Answer(call, ToRaised(tools_->NoSuchTool(call.tool)));
    if (tool->is_immediate() && tool->definition().approval.mode() == Approval::Mode::kNever) {
      Invocation invocation{.positional = std::move(call.positional),
                            .keywords = std::move(call.keywords)};
      return Answer(call, Flatten(tool->InvokeNow(std::move(invocation), run_)));
    }
    waiting_.push_back(std::move(call));
    LaunchWaiting();
  }

  // Nothing is answered from here on.
  void Stop() {
    cell_ = nullptr;
    waiting_.clear();
    const auto flights = flights_;  // Cancelling one may end it at once.
    for (const auto& flight : flights) flight->emit(asio::cancellation_type::terminal);
  }

  asio::awaitable<void> AwaitLanding() {
    while (!flights_.empty()) {
      co_await all_landed_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }

 private:
  using Flight = std::shared_ptr<asio::cancellation_signal>;

  void LaunchWaiting() {
    while (!waiting_.empty() && flights_.size() < options_.side_by_side) {
      ToolCall call = std::move(waiting_.front());
      waiting_.pop_front();
      auto flight = flights_.emplace_back(std::make_shared<asio::cancellation_signal>());
      auto landed = [self = shared_from_this(), flight](std::exception_ptr thrown) {
        if (thrown) std::terminate();  // Bodies and gates do not throw past Serve.
        self->Land(flight);
      };
      asio::co_spawn(executor_, Serve(shared_from_this(), std::move(call)),
                     asio::bind_cancellation_slot(flight->slot(), std::move(landed)));
    }
  }

  void Land(const Flight& flight) {
    std::erase(flights_, flight);
    if (flights_.empty()) all_landed_.cancel();
    LaunchWaiting();
  }

  // Keeps `self` while it runs.
  static asio::awaitable<void> Serve(std::shared_ptr<Traffic> self, ToolCall call) {
    try {
      ToolAnswer answer = co_await self->Perform(call);
      self->Answer(call, std::move(answer));
    } catch (const std::exception& thrown) {  // Asio's own, when we are cancelled.
      self->Answer(call, ToolRaised{.type = "CancelledError", .message = thrown.what()});
    }
  }

  asio::awaitable<ToolAnswer> Perform(ToolCall& call) {
    const auto tool = tools_->Find(call.tool)->shared_from_this();
    Invocation invocation{.positional = std::move(call.positional),
                          .keywords = std::move(call.keywords)};
    if (tool->definition().approval.mode() != Approval::Mode::kNever) {
      auto bound = tool->Bind(std::move(invocation.positional), std::move(invocation.keywords));
      if (!bound) co_return ToRaised(bound.error());
      invocation = {.keywords = *std::move(bound)};
      if (tool->NeedsApproval(invocation.keywords)) {
        if (auto denied = co_await Ask({call.seq, tool, invocation.keywords})) co_return *denied;
        invocation.consent = Consent::kGiven;
      }
    }
    auto answer = co_await tool->InvokeRaw(std::move(invocation), run_);
    co_return Flatten(std::move(answer));
  }

  asio::awaitable<std::optional<ToolDenied>> Ask(GatedCall call) {
    if (!options_.gate) {
      co_return ToolDenied{call.tool->name() + " needs an approval, and nobody can give one here"};
    }
    co_return co_await options_.gate(std::move(call));
  }

  void Answer(const ToolCall& call, ToolAnswer answer) {
    if (cell_ == nullptr) return;
    const auto sent = cell_->Answer(call.seq, Sendable(std::move(answer)));
    // Refused because the run ended meanwhile: nobody waits for it any more.
    if (sent || sent.error().code() == ErrorCode::kFailedPrecondition) return;
    static_cast<void>(cell_->Answer(
        call.seq, ToolRaised{.type = "LimitError", .message = sent.error().message()}));
  }

  Cell* cell_;  // Null once stopped.
  const asio::any_io_executor executor_;
  const std::shared_ptr<const ToolSet> tools_;
  const ToolBridgeOptions options_;
  ToolRun run_;
  std::deque<ToolCall> waiting_;
  std::vector<Flight> flights_;
  asio::steady_timer all_landed_;  // Cancelled whenever no flight is left.
};

ToolGate OpenGate() {
  return [](GatedCall) -> asio::awaitable<std::optional<ToolDenied>> { co_return std::nullopt; };
}

ToolBridge::ToolBridge(Cell& cell, std::shared_ptr<const ToolSet> tools, ToolBridgeOptions options)
    : traffic_(std::make_shared<Traffic>(cell, std::move(tools), std::move(options))) {}

ToolBridge::~ToolBridge() {
  traffic_->Stop();
}

void ToolBridge::OnOutput(OutputStream stream, std::string_view bytes) {
  if (traffic_->options().on_output) traffic_->options().on_output(stream, bytes);
}

void ToolBridge::OnCall(ToolCall call) {
  traffic_->Take(std::move(call));
}

asio::awaitable<void> ToolBridge::Close() {
  traffic_->Stop();
  co_await traffic_->AwaitLanding();
}

}  // namespace caisson
