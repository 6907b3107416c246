// A Model that plays scripts, for tests of everything above models.
//
//   ScriptedModel model;
//   model.Push(CallOf("execute_code", R"({"code": "1 + 1"})"));
//   model.Push(TextOf("It is 2."));
//
// Trust     None; it is for tests.
// Threads   Any.
// Lifetime  Outlives its coroutines.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/spawn.h"
#include "base/wakeup.h"
#include "model/model.h"

namespace caisson {

struct ScriptedReply {
  std::vector<model::Item> items{};
  model::Finish finish = model::Finish::kStop;
  model::TokenUsage usage{.input = 10, .output = 5};
  std::optional<Error> error{};         // Instead of the end of the reply, after all deltas.
  std::shared_ptr<Wakeup> hold{};       // Waits for this before it ends, or for a cancellation.
  std::function<void()> on_streamed{};  // Called after all deltas.
};

inline ScriptedReply TextOf(std::string text) {
  return {.items = {model::MessageItem{.role = model::Role::kAssistant,
                                       .parts = {model::TextPart{std::move(text)}}}}};
}

inline ScriptedReply CallsOf(std::vector<model::ToolCallItem> calls) {
  ScriptedReply reply{.finish = model::Finish::kToolCalls};
  for (auto& call : calls) reply.items.emplace_back(std::move(call));
  return reply;
}
inline ScriptedReply CallOf(std::string tool, std::string arguments, std::string id = "call") {
  return CallsOf(
      {{.call_id = std::move(id), .name = std::move(tool), .arguments = std::move(arguments)}});
}

class ScriptedModel final : public model::Model {
 public:
  using Answer = std::function<ScriptedReply(const model::ModelRequest&)>;

  void Push(ScriptedReply reply) { state_.Lock()->replies.push_back(std::move(reply)); }
  // Is asked if there is no script.
  void AnswerWith(Answer answer) { state_.Lock()->answer = std::move(answer); }
  std::vector<model::ModelRequest> requests() const { return state_.Lock()->requests; }

  asio::awaitable<Result<model::ModelReply>> Generate(model::ModelRequest request,
                                                      model::OnDelta on_delta) override {
    ScriptedReply reply = Next(std::move(request));
    for (std::size_t i = 0; i < reply.items.size(); ++i) Stream(i, reply.items[i], on_delta);
    if (reply.on_streamed) reply.on_streamed();
    if (reply.hold && co_await reply.hold->Sleep() == Wakeup::Reason::kCancelled) {
      co_return Error(ErrorCode::kCancelled, "cancelled");
    }
    if (reply.error) co_return *std::move(reply.error);
    co_return model::ModelReply{.items = std::move(reply.items),
                                .finish = reply.finish,
                                .usage = reply.usage,
                                .model = "scripted"};
  }

 private:
  struct State {
    std::deque<ScriptedReply> replies;
    Answer answer;
    std::vector<model::ModelRequest> requests;
  };

  ScriptedReply Next(model::ModelRequest request) {
    Answer answer;
    {
      auto state = state_.Lock();
      state->requests.push_back(request);
      if (!state->replies.empty()) {
        ScriptedReply reply = std::move(state->replies.front());
        state->replies.pop_front();
        return reply;
      }
      answer = state->answer;
    }
    return answer ? answer(request) : TextOf("done");
  }

  // In two pieces.
  template <typename Tell>
  static void Halve(const std::string& text, Tell tell) {
    const std::size_t half = text.size() / 2;
    if (half > 0) tell(text.substr(0, half));
    if (half < text.size()) tell(text.substr(half));
  }

  static void Stream(std::size_t i, const model::Item& item, const model::OnDelta& on_delta) {
    if (const auto* message = std::get_if<model::MessageItem>(&item)) {
      for (const model::Part& part : message->parts) {
        const auto* text = std::get_if<model::TextPart>(&part);
        if (text == nullptr) continue;
        Halve(text->text, [&](std::string piece) {
          on_delta(model::TextDelta{.item = i, .text = std::move(piece)});
        });
      }
    } else if (const auto* call = std::get_if<model::ToolCallItem>(&item)) {
      on_delta(model::ToolCallBegun{.item = i, .call_id = call->call_id, .name = call->name});
      Halve(call->arguments, [&](std::string piece) {
        on_delta(model::ArgumentsDelta{.item = i, .text = std::move(piece)});
      });
    }
  }

  mutable Guarded<State> state_;
};

}  // namespace caisson
