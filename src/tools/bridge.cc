#include "tools/bridge.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <exception>
#include <set>
#include <utility>
#include <vector>

#include "base/spawn.h"
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
        run_(options_.trace, options_.session, options_.on_progress),
        all_landed_(executor_, asio::steady_timer::time_point::max()),
        slot_free_(executor_, asio::steady_timer::time_point::max()) {}

  const ToolBridgeOptions& options() const { return options_; }

  void Take(ToolCall call) {
    if (options_.journal) return Launch(std::move(call));
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
    slot_free_.cancel();
    for (const Flight& flight : flights_) flight.Request();
  }

  void Explain(OutcomeCall& call) const {
    if (call.outcome == "pending" && begun_.contains(call.seq)) call.outcome = "uncertain";
    const Tool* tool = tools_->Find(call.tool);
    const auto* given = call.arguments.If<Dict>();
    if (!call.has_positional || given == nullptr || tool == nullptr) return;
    Dict keywords = *given;
    const auto positional = keywords.items.back().second;
    keywords.items.pop_back();
    auto bound = tool->Bind(*positional.If<List>(), std::move(keywords));
    if (!bound) return;
    call.arguments = *std::move(bound);
    call.has_positional = false;
  }

  asio::awaitable<void> AwaitLanding() {
    while (!flights_.empty() || writing_) {
      co_await all_landed_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }

 private:
  using Flight = caisson::Stop;

  void LaunchWaiting() {
    while (!waiting_.empty() && flights_.size() < options_.side_by_side) {
      ToolCall call = std::move(waiting_.front());
      waiting_.pop_front();
      Launch(std::move(call));
    }
  }

  void Launch(ToolCall call) {
    const Flight flight = flights_.emplace_back(executor_);
    const auto self = shared_from_this();
    Spawn(flight,
          options_.journal ? ServeJournaled(self, std::move(call)) : Serve(self, std::move(call)),
          [self, flight] { self->Land(flight); });
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

  static asio::awaitable<void> ServeJournaled(std::shared_ptr<Traffic> self, ToolCall call) {
    co_await asio::this_coro::throw_if_cancelled(false);
    const std::uint32_t seq = call.seq;
    JournaledCall bound = self->Bind(std::move(call));
    auto ruling = co_await self->options_.journal->Before(bound);
    if (auto* recorded = std::get_if<CallJournal::Recorded>(&ruling)) {
      if (!bound.refused) self->run_.Count(bound.name);
      self->Answer(seq, std::move(recorded->answer), recorded->at);
    } else if (auto* instead = std::get_if<CallJournal::Instead>(&ruling)) {
      self->WriteDown(seq, std::move(instead->answer));
    } else if (const auto* go = std::get_if<CallJournal::GoAhead>(&ruling)) {
      if (bound.refused) co_return self->WriteDown(seq, *std::move(bound.refused));
      auto answer = co_await self->PerformInSlot(std::move(bound), *go);
      if (answer) self->WriteDown(seq, *std::move(answer));
    }
  }

  JournaledCall Bind(ToolCall call) const {
    JournaledCall bound{.seq = call.seq, .name = std::move(call.tool)};
    const Tool* tool = tools_->Find(bound.name);
    if (tool == nullptr) {
      bound.refused = ToRaised(tools_->NoSuchTool(bound.name));
    } else {
      bound.tool = tool->shared_from_this();
      auto arguments = tool->Bind(call.positional, call.keywords);
      if (arguments) {
        bound.arguments = *std::move(arguments);
        return bound;
      }
      bound.refused = ToRaised(arguments.error());
    }
    bound.arguments = WithPositional(std::move(call.keywords), std::move(call.positional));
    return bound;
  }

  // The journal hears that the call is started once it has a slot and the tool is about to do it: until then it has not
  // begun, whatever happens to this process. Nothing: the run ended first, or the call must not begin here.
  asio::awaitable<std::optional<ToolAnswer>> PerformInSlot(JournaledCall call,
                                                           CallJournal::GoAhead go) {
    while (effects_ >= options_.side_by_side && cell_ != nullptr) {
      co_await slot_free_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    if (cell_ == nullptr) co_return std::nullopt;
    ++effects_;
    const auto started = std::make_shared<std::optional<bool>>();
    const std::uint32_t seq = call.seq;
    auto answer = co_await Invoke(
        std::move(call), std::move(go),
        [self = shared_from_this(), seq, started] { return StartEffectOf(self, seq, started); });
    // A tool that failed before its effect: the answer needs a row as well.
    if (answer && !*started && cell_ != nullptr)
      co_await StartEffectOf(shared_from_this(), seq, started);
    if (!started->value_or(false)) answer.reset();
    --effects_;
    slot_free_.cancel();
    // Of a tool that was cancelled with its run, only a result says for sure what happened.
    if (cell_ == nullptr && answer && !std::holds_alternative<Value>(*answer)) answer.reset();
    co_return answer;
  }

  static asio::awaitable<bool> StartEffectOf(std::shared_ptr<Traffic> self, std::uint32_t seq,
                                             std::shared_ptr<std::optional<bool>> started) {
    const bool may = co_await self->options_.journal->Start(seq);
    *started = may && self->cell_ != nullptr;
    if (**started) self->begun_.insert(seq);
    co_return **started;
  }

  asio::awaitable<std::optional<ToolAnswer>> Invoke(JournaledCall call, CallJournal::GoAhead go,
                                                    StartEffect start) {
    std::optional<ToolAnswer> answer;
    try {
      answer =
          Flatten(co_await call.tool->InvokeRaw({.keywords = std::move(call.arguments),
                                                 .consent = go.consent,
                                                 .idempotency_key = std::move(go.idempotency_key),
                                                 .start = std::move(start)},
                                                run_));
    } catch (const std::exception&) {  // Asio's own, when we are cancelled.
    }
    co_return answer;
  }

  // Answers are written down and given one after the other: a replay gives them in the same order. What was written
  // is finished even if the run ends.
  void WriteDown(std::uint32_t seq, ToolAnswer answer) {
    unwritten_.emplace_back(seq, Sendable(std::move(answer)));
    if (std::exchange(writing_, true)) return;
    Spawn(executor_, WriteAll(shared_from_this()));
  }

  static asio::awaitable<void> WriteAll(std::shared_ptr<Traffic> self) {
    while (!self->unwritten_.empty()) {
      auto [seq, answer] = std::move(self->unwritten_.front());
      self->unwritten_.pop_front();
      const auto at = co_await self->options_.journal->After(seq, answer);
      if (at) self->Answer(seq, std::move(answer), *at);
    }
    self->writing_ = false;
    if (self->flights_.empty()) self->all_landed_.cancel();
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
    begun_.insert(call.seq);
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
    Answer(call.seq, Sendable(std::move(answer)), std::chrono::system_clock::now());
  }
  void Answer(std::uint32_t seq, ToolAnswer answer, SystemTime at) {
    if (cell_ == nullptr) return;
    const auto sent = cell_->AnswerAt(seq, std::move(answer), at);
    // Refused because the run ended meanwhile: nobody waits for it any more.
    if (!sent && sent.error().code() == ErrorCode::kFailedPrecondition) return;
    begun_.erase(seq);
    if (sent) return;
    static_cast<void>(cell_->AnswerAt(
        seq, ToolRaised{.type = "LimitError", .message = sent.error().message()}, at));
  }

  Cell* cell_;  // Null once stopped.
  const asio::any_io_executor executor_;
  const std::shared_ptr<const ToolSet> tools_;
  const ToolBridgeOptions options_;
  ToolRun run_;
  std::deque<ToolCall> waiting_;
  std::vector<Flight> flights_;
  std::set<std::uint32_t> begun_;  // Calls whose tools were called, and that have no answer.
  asio::steady_timer all_landed_;  // Cancelled whenever no flight is left.
  std::deque<std::pair<std::uint32_t, ToolAnswer>> unwritten_;
  bool writing_ = false;
  std::size_t effects_ = 0;       // Journaled calls whose tools are at work.
  asio::steady_timer slot_free_;  // Cancelled whenever one of them is done.
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

void ToolBridge::Reopen(std::vector<ToolCall> calls) {
  for (ToolCall& call : calls) traffic_->Take(std::move(call));
}

void ToolBridge::Explain(std::vector<OutcomeCall>& calls) const {
  for (OutcomeCall& call : calls) traffic_->Explain(call);
}

asio::awaitable<void> ToolBridge::Close() {
  traffic_->Stop();
  co_await traffic_->AwaitLanding();
}

}  // namespace caisson
