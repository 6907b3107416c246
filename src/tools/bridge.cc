#include "tools/bridge.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/low_priority_pool.h"
#include "base/spawn.h"
#include "base/utf8.h"
#include "engine/unread_answers.h"
#include "tools/arguments.h"
#include "tools/call_reader.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxMessageBytes = 16u << 10;
// The limit of the canonical texts of a run's open journaled calls.
constexpr std::size_t kMaxTextBytes = 16u << 20;
// While the cell has this much to read, it gets no further answers and no call is begun.
constexpr std::size_t kMaxUnreadBytes = 1u << 20;
// The same for answers that the bridge holds.
constexpr std::size_t kManyAnswerBytes = 8u << 20;
// How often a cell that has much to read is looked at.
constexpr std::chrono::milliseconds kLook{1};
constexpr std::chrono::milliseconds kLongestLook{16};

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

// Converts an answer to a form that the guest accepts.
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

// The calls of the run and their state.
class ToolBridge::Traffic : public std::enable_shared_from_this<Traffic> {
 public:
  Traffic(Cell& cell, std::shared_ptr<const ToolSet> tools, ToolBridgeOptions options)
      : cell_(&cell),
        executor_(cell.executor()),
        tools_(std::move(tools)),
        options_(std::move(options)),
        unread_(dynamic_cast<const UnreadAnswers*>(&cell)),
        run_(options_.trace, options_.caller, options_.on_progress),
        all_landed_(executor_, asio::steady_timer::time_point::max()),
        look_(executor_) {}

  const ToolBridgeOptions& options() const { return options_; }
  std::size_t argument_bytes() const { return argument_bytes_; }

  void Take(ToolCall call) {
    if (options_.journal) {
      options_.journal->Expect(call.seq);
    } else if (TakeNow(call)) {
      return;
    }
    waiting_.push_back(std::move(call));
    LaunchWaiting();
  }

  void TakeRecorded(RecordedCall call) {
    options_.journal->Expect(call.seq);
    const Tool* tool = tools_->Find(call.tool);
    JournaledCall journaled{.seq = call.seq, .name = std::move(call.tool)};
    if (call.arguments) journaled.arguments = std::move(call.arguments);
    if (tool != nullptr) {
      journaled.tool = tool->shared_from_this();
    } else {
      journaled.refused = ToRaised(tools_->NoSuchTool(journaled.name));
    }
    Launch([&](auto self) { return ServeJournaled(self, std::move(journaled)); });
  }

  // No call is answered after this.
  void Stop() {
    cell_ = nullptr;
    waiting_.clear();
    ready_.clear();
    outgoing_.clear();
    look_.cancel();
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

  // The part of kMaxArgumentBytes that one current call uses.
  class Load {
   public:
    Load(Traffic& traffic, std::size_t bytes) : traffic_(traffic), bytes_(bytes) {}
    Load(const Load&) = delete;
    Load& operator=(const Load&) = delete;
    ~Load() { ShrinkTo(0); }

    void ShrinkTo(std::size_t bytes) {
      if (bytes >= bytes_) return;
      traffic_.argument_bytes_ -= std::exchange(bytes_, bytes) - bytes;
      traffic_.LaunchSoon();
    }

   private:
    Traffic& traffic_;
    std::size_t bytes_;
  };
  struct ReadyCall {
    JournaledCall call;
    CallJournal::GoAhead go;

    const std::shared_ptr<const CanonicalArguments>& arguments() const {
      return go.edited ? go.edited : call.arguments;
    }
  };

  std::size_t held_bytes() const { return argument_bytes_ + text_bytes_ + answer_bytes_; }

  // Without other arguments and answers, one call is always admitted, of any size.
  bool Reserve(std::size_t bytes) {
    if (argument_bytes_ > 0 && argument_bytes_ + bytes > kMaxArgumentBytes) return false;
    const bool is_alone = argument_bytes_ == 0 && answer_bytes_ == 0;
    if (!is_alone && held_bytes() + bytes > kMaxHeldBytes) return false;
    argument_bytes_ += bytes;
    return true;
  }

  // Returns whether the code has much to read. Then calls wait, because their answers would.
  bool IsBehind() const {
    return !outgoing_.empty() || answer_bytes_ > kManyAnswerBytes || HasMuchToRead();
  }
  bool HasMuchToRead() const {
    return cell_ != nullptr && unread_ != nullptr &&
           unread_->unread_answer_bytes() > kMaxUnreadBytes;
  }

  asio::awaitable<void> AwaitRoomForAnswers() {
    while (cell_ != nullptr && IsBehind()) {
      asio::steady_timer pause(executor_, kLook);
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }

  // Answers a call that takes no time and needs no approval. Returns false for other calls.
  bool TakeNow(ToolCall& call) {
    const Tool* tool = tools_->Find(call.tool);
    if (tool == nullptr) {
      Answer(call.seq, ToRaised(tools_->NoSuchTool(call.tool)));
      return true;
    }
    if (!tool->is_immediate() || tool->definition().approval.mode() != Approval::Mode::kNever ||
        call.packed.size() > kSmallMessageBytes || IsBehind()) {
      return false;
    }
    if (auto unpacked = Unpack(call); !unpacked) {
      Answer(call.seq, ToRaised(unpacked.error()));
      return true;
    }
    Invocation invocation{.positional = std::move(call.positional),
                          .keywords = std::move(call.keywords)};
    Answer(call.seq, Flatten(tool->InvokeNow(std::move(invocation), run_)));
    return true;
  }

  std::size_t begun_calls() const { return options_.journal ? reading_ : flights_.size(); }

  // Posted separately: a coroutine may begin where it is launched. Then calls would be nested in
  // each other, in the wrong order, and other cells of the lane would wait for all of them.
  void LaunchSoon() {
    if (waiting_.empty() && ready_.empty()) return;
    if (std::exchange(launching_, true)) return;
    asio::post(executor_, [self = shared_from_this()] {
      self->launching_ = false;
      self->LaunchReady();
      self->LaunchWaiting();
    });
  }

  void LaunchWaiting() {
    while (!waiting_.empty() && begun_calls() < options_.side_by_side) {
      if (IsBehind()) return LookLater();
      const std::size_t most = MostDecodedBytes(waiting_.front().packed.size());
      if (!Reserve(most)) return;
      ToolCall call = std::move(waiting_.front());
      waiting_.pop_front();
      if (options_.journal) {
        ++reading_;
        Launch([&](auto self) { return ReadJournaled(self, std::move(call), most); });
      } else {
        Launch([&](auto self) { return Serve(self, std::move(call), most); });
      }
    }
  }

  void LaunchReady() {
    while (!ready_.empty() && effects_ < options_.side_by_side) {
      if (IsBehind()) return LookLater();
      const std::size_t most = MostDecodedBytes(ready_.front().arguments()->text.size());
      if (!Reserve(most)) return;
      ReadyCall ready = std::move(ready_.front());
      ready_.pop_front();
      ++effects_;
      Launch([&](auto self) { return PerformJournaled(self, std::move(ready), most); });
    }
  }

  // Starts the coroutine that `make` returns for a pointer, which it must keep.
  template <typename F>
  void Launch(F make) {
    const Flight flight = flights_.emplace_back(executor_);
    const auto self = shared_from_this();
    Spawn(flight, make(self), [self, flight] { self->Land(flight); });
  }

  void Land(const Flight& flight) {
    std::erase(flights_, flight);
    if (flights_.empty()) all_landed_.cancel();
    LaunchSoon();
  }

  // Does small work here and large work in the pool. Returns nullopt if the run ended meanwhile.
  template <typename T>
  asio::awaitable<std::optional<T>> Work(std::size_t encoded_bytes, std::function<T()> work) {
    std::optional<T> done = co_await CallAside(options_.pool, encoded_bytes, std::move(work));
    if (cell_ == nullptr) done.reset();
    co_return done;
  }

  static asio::awaitable<void> Serve(std::shared_ptr<Traffic> self, ToolCall call,
                                     std::size_t reserved) {
    const std::uint32_t seq = call.seq;
    Load load(*self, reserved);
    try {
      const std::size_t size = call.packed.size();
      auto read = co_await self->Work<ReadCall>(
          size, [call = std::move(call), tools = self->tools_]() mutable {
            return Read(std::move(call), *tools);
          });
      if (!read) co_return;
      load.ShrinkTo(read->decoded_bytes);
      co_await self->AwaitRoomForAnswers();
      if (self->cell_ == nullptr) co_return;
      self->Answer(seq, co_await self->Perform(seq, *std::move(read)));
    } catch (const std::exception& thrown) {  // Thrown by Asio on cancellation.
      self->Answer(seq, ToolRaised{.type = "CancelledError", .message = thrown.what()});
    }
  }

  // Holds the call as text until it is decided.
  static asio::awaitable<void> ReadJournaled(std::shared_ptr<Traffic> self, ToolCall call,
                                             std::size_t reserved) {
    co_await asio::this_coro::throw_if_cancelled(false);
    const std::size_t size = call.packed.size();
    std::string trace = std::move(call.trace);
    std::optional<JournaledCall> read;
    {
      const Load load(*self, reserved);
      read = co_await self->Work<JournaledCall>(
          size, [call = std::move(call), tools = self->tools_]() mutable {
            const std::uint32_t seq = call.seq;
            std::string name = call.tool;
            return ToJournal(seq, std::move(name), Read(std::move(call), *tools));
          });
      --self->reading_;
    }
    if (!read) co_return;
    read->trace = std::move(trace);
    self->HoldText(*read);
    co_await ServeJournaled(self, *std::move(read));
  }

  // Refuses a call whose text has no room. Its row keeps the digest, so that a replay recognises
  // the call.
  void HoldText(JournaledCall& call) {
    const std::size_t size = call.arguments->text.size();
    if (text_bytes_ > 0 && text_bytes_ + size > kMaxTextBytes) {
      call.arguments = std::make_shared<CanonicalArguments>(
          CanonicalArguments{.text = {}, .digest = call.arguments->digest});
      call.refused =
          ToolRaised{.type = "LimitError",
                     .message = "the arguments of a run's open calls can have " +
                                std::to_string(kMaxTextBytes) +
                                " bytes together as canonical JSON; wait for some of them before "
                                "you call again"};
      return;
    }
    text_bytes_ += size;
    texts_.emplace(call.seq, size);
  }

  void ReleaseText(std::uint32_t seq) {
    const auto held = texts_.find(seq);
    if (held == texts_.end()) return;
    text_bytes_ -= held->second;
    texts_.erase(held);
    LaunchSoon();
  }

  static asio::awaitable<void> ServeJournaled(std::shared_ptr<Traffic> self, JournaledCall call) {
    co_await asio::this_coro::throw_if_cancelled(false);
    const std::uint32_t seq = call.seq;
    auto decision = co_await self->options_.journal->Before(call);
    if (auto* recorded = std::get_if<CallJournal::Recorded>(&decision)) {
      if (!call.refused) self->run_.Count(call.name);
      self->Deliver({seq, std::move(recorded->answer), recorded->at});
    } else if (auto* instead = std::get_if<CallJournal::Instead>(&decision)) {
      self->WriteDown(seq, std::move(instead->answer));
    } else if (auto* go = std::get_if<CallJournal::GoAhead>(&decision)) {
      if (call.refused) co_return self->WriteDown(seq, *std::move(call.refused));
      if (self->cell_ == nullptr) co_return;
      self->ready_.push_back({std::move(call), std::move(*go)});
      self->LaunchReady();
    }
  }

  static asio::awaitable<void> PerformJournaled(std::shared_ptr<Traffic> self, ReadyCall ready,
                                                std::size_t reserved) {
    co_await asio::this_coro::throw_if_cancelled(false);
    const std::uint32_t seq = ready.call.seq;
    std::optional<ToolAnswer> answer;
    {
      Load load(*self, reserved);
      auto arguments = co_await self->Work<Result<Dict>>(
          ready.arguments()->text.size(),
          [given = ready.arguments()] { return ParseArguments(given->text, given->digest); });
      if (arguments && !*arguments) answer = ToRaised(arguments->error());
      if (arguments && *arguments && self->cell_ != nullptr) {
        load.ShrinkTo(DecodedBytes(**arguments));
        co_await self->AwaitRoomForAnswers();
      }
      if (arguments && *arguments && self->cell_ != nullptr) {
        answer = co_await self->Invoke(std::move(ready), **std::move(arguments));
      }
      --self->effects_;
    }
    if (answer) self->WriteDown(seq, *std::move(answer));
  }

  // Tells the journal that the call is started only when the tool is about to execute it. Until
  // then it has not begun, even if this process dies. nullopt: the run ended first, or the call
  // must not begin here.
  asio::awaitable<std::optional<ToolAnswer>> Invoke(ReadyCall ready, Dict arguments) {
    const auto started = std::make_shared<std::optional<bool>>();
    const std::uint32_t seq = ready.call.seq;
    auto answer = co_await InvokeTool(
        std::move(ready), std::move(arguments),
        [self = shared_from_this(), seq, started] { return StartEffectOf(self, seq, started); });
    // The tool failed before its effect; the answer needs a row as well.
    if (answer && !*started && cell_ != nullptr) {
      co_await StartEffectOf(shared_from_this(), seq, started);
    }
    if (!started->value_or(false)) answer.reset();
    // If the tool was cancelled with its run, only a result says for certain what happened.
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

  asio::awaitable<std::optional<ToolAnswer>> InvokeTool(ReadyCall ready, Dict arguments,
                                                        StartEffect start) {
    std::optional<ToolAnswer> answer;
    try {
      answer = Flatten(co_await ready.call.tool->InvokeRaw(
          {.keywords = std::move(arguments),
           .consent = ready.go.consent,
           .idempotency_key = std::move(ready.go.idempotency_key),
           .bound = true,
           .start = std::move(start)},
          run_));
    } catch (const std::exception&) {  // Thrown by Asio on cancellation.
    }
    co_return answer;
  }

  // Records and delivers answers one after the other, so that a replay delivers them in the same
  // order. A write that was begun is finished even if the run ends.
  void WriteDown(std::uint32_t seq, ToolAnswer answer) {
    answer = Sendable(std::move(answer));
    const std::size_t bytes = Hold(answer);
    unwritten_.push_back({.seq = seq, .answer = std::move(answer), .bytes = bytes});
    if (std::exchange(writing_, true)) return;
    Spawn(executor_, WriteAll(shared_from_this()));
  }

  // Charges an answer that has to wait, and returns its size. Replaces it if there is no room.
  std::size_t Hold(ToolAnswer& answer) {
    const auto* value = std::get_if<Value>(&answer);
    if (value == nullptr) return 0;
    const std::size_t bytes = DecodedBytes(*value);
    if (bytes > kMaxHeldBytes - std::min(held_bytes(), kMaxHeldBytes)) {
      answer = NoRoom();
      return 0;
    }
    answer_bytes_ += bytes;
    return bytes;
  }

  void Release(std::size_t answer_bytes) {
    answer_bytes_ -= answer_bytes;
    if (answer_bytes > 0) LaunchSoon();
  }

  static ToolRaised NoRoom() {
    return {.type = "LimitError",
            .message =
                "the tool was called, but its answer has no room: the arguments and answers "
                "of a run's open calls can take " +
                std::to_string(kMaxHeldBytes) +
                " bytes; call fewer tools at once, and read their answers sooner"};
  }

  static asio::awaitable<void> WriteAll(std::shared_ptr<Traffic> self) {
    while (!self->unwritten_.empty()) {
      Given given = std::move(self->unwritten_.front());
      self->unwritten_.pop_front();
      const auto at = co_await self->options_.journal->After(given.seq, given.answer);
      if (at) {
        given.at = *at;
        self->Deliver(std::move(given));
      } else {
        self->Release(given.bytes);
      }
    }
    self->writing_ = false;
    if (self->flights_.empty()) self->all_landed_.cancel();
  }

  asio::awaitable<ToolAnswer> Perform(std::uint32_t seq, ReadCall call) {
    if (call.refused) {
      if (options_.trace && call.tool) {
        options_.trace(
            {.tool = call.tool->name(), .outcome = "refused", .error_type = call.refused->type});
      }
      co_return *std::move(call.refused);
    }
    Invocation invocation{.keywords = std::move(call.arguments), .bound = true};
    if (call.needs_approval) {
      if (options_.consent == Consent::kNone) {
        co_return ToolDenied{call.tool->name() +
                             " needs an approval, and this run has no way to ask for one"};
      }
      invocation.consent = options_.consent;
    }
    begun_.insert(seq);
    auto answer = co_await call.tool->InvokeRaw(std::move(invocation), run_);
    co_return Flatten(std::move(answer));
  }

  struct Given {
    std::uint32_t seq;
    ToolAnswer answer;
    SystemTime at{};
    std::size_t bytes = 0;  // What Hold() charged.
  };

  void Answer(std::uint32_t seq, ToolAnswer answer) {
    answer = Sendable(std::move(answer));
    const std::size_t bytes = IsBehind() ? Hold(answer) : 0;
    Deliver({seq, std::move(answer), std::chrono::system_clock::now(), bytes});
  }

  // Passes answers to the cell, in order, as fast as it reads them.
  void Deliver(Given given) {
    ReleaseText(given.seq);
    outgoing_.push_back(std::move(given));
    SendOutgoing();
  }

  void SendOutgoing() {
    while (!outgoing_.empty() && (cell_ == nullptr || !HasMuchToRead())) {
      Given given = std::move(outgoing_.front());
      outgoing_.pop_front();
      Release(given.bytes);
      Send(given.seq, std::move(given.answer), given.at);
    }
    if (!outgoing_.empty()) LookLater();
  }

  // The engine does not say when the code has read something.
  void LookLater() {
    if (std::exchange(looking_, true)) return;
    look_.expires_after(pause_);
    look_.async_wait([self = shared_from_this()](const boost::system::error_code&) {
      self->looking_ = false;
      if (self->cell_ == nullptr) return;
      self->pause_ = self->HasMuchToRead() ? std::min(2 * self->pause_, kLongestLook) : kLook;
      self->SendOutgoing();
      self->LaunchReady();
      self->LaunchWaiting();
    });
  }

  void Send(std::uint32_t seq, ToolAnswer answer, SystemTime at) {
    if (cell_ == nullptr) return;
    const auto sent = cell_->AnswerAt(seq, std::move(answer), at);
    // Refused because the run ended meanwhile; nothing waits for it.
    if (!sent && sent.error().code() == ErrorCode::kFailedPrecondition) return;
    begun_.erase(seq);
    if (sent) return;
    static_cast<void>(cell_->AnswerAt(
        seq, ToolRaised{.type = "LimitError", .message = sent.error().message()}, at));
  }

  Cell* cell_;  // Null after Stop().
  const asio::any_io_executor executor_;
  const std::shared_ptr<const ToolSet> tools_;
  const ToolBridgeOptions options_;
  const UnreadAnswers* const unread_;  // Of the cell; null if it cannot tell.
  ToolRun run_;
  std::deque<ToolCall> waiting_;  // In encoded form.
  std::deque<ReadyCall> ready_;   // Journaled calls that may be executed, as text.
  std::vector<Flight> flights_;
  std::set<std::uint32_t> begun_;  // Calls whose tools were started and have no answer.
  asio::steady_timer all_landed_;  // Cancelled when no call is left.
  std::deque<Given> unwritten_;
  std::deque<Given> outgoing_;  // Recorded, or not to be recorded.
  asio::steady_timer look_;     // Runs while `looking_`.
  std::chrono::milliseconds pause_ = kLook;
  bool looking_ = false;
  bool writing_ = false;
  bool launching_ = false;   // LaunchSoon() has posted.
  std::size_t reading_ = 0;  // Journaled calls that are being read.
  std::size_t effects_ = 0;  // Journaled calls whose tools are running.
  std::size_t argument_bytes_ =
      0;  // Decoded size of the arguments of current calls, or its upper bound.
  std::size_t answer_bytes_ = 0;                // What Hold() charged for answers that wait.
  std::size_t text_bytes_ = 0;                  // The sum of texts_.
  std::map<std::uint32_t, std::size_t> texts_;  // The size of the text of each open journaled call.
};

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

void ToolBridge::OnSleep(std::optional<HostTime> until) {
  if (traffic_->options().on_sleep) traffic_->options().on_sleep(until);
}

void ToolBridge::Reopen(std::vector<RecordedCall> calls) {
  for (RecordedCall& call : calls) traffic_->TakeRecorded(std::move(call));
}

std::size_t ToolBridge::argument_bytes() const {
  return traffic_->argument_bytes();
}

void ToolBridge::Explain(std::vector<OutcomeCall>& calls) const {
  for (OutcomeCall& call : calls) traffic_->Explain(call);
}

asio::awaitable<void> ToolBridge::Close() {
  traffic_->Stop();
  co_await traffic_->AwaitLanding();
}

}  // namespace caisson
