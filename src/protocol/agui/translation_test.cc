#include "protocol/agui/translation.h"

#include <gmock/gmock.h>

#include "wire/object.h"

namespace caisson::agui {
namespace {

using ::testing::ElementsAre;

class TranslationTest : public ::testing::Test {
 protected:
  // Each event in short: its type and what matters of it.
  void Note(const Dict& event) {
    std::string text = *FindAs<std::string>(event, "type");
    for (const char* name : {"toolCallId", "delta", "content", "name"}) {
      if (const auto* value = FindAs<std::string>(event, name)) text.append(" ").append(*value);
    }
    events_.push_back(std::move(text));
  }
  Translation Make(std::vector<WaitingCall> waiting = {}) {
    return Translation(std::move(waiting), [this](const Dict& event, Weight) { Note(event); });
  }
  template <typename Event>
  static TurnEvent Of(Event event) {
    return {.event = std::move(event)};
  }

  std::vector<std::string> events_;
};

TEST_F(TranslationTest, CodeIsACallWhoseArgumentsAreJson) {
  Translation translation = Make();
  CodeCall call{.call_id = "m", .code = "", .run = RunId("run_1")};
  translation.Take(Of(ItemAdded{{.id = "c", .content = call}}));
  translation.Take(Of(ItemDelta{"c", ItemDelta::Kind::kCode, "print(\"a\")\n"}));
  translation.Take(Of(ItemDelta{"c", ItemDelta::Kind::kCode, "1"}));
  translation.Take(Of(ItemDelta{"c", ItemDelta::Kind::kOutput, "a\n"}));
  call.progress = CallProgress::kCompleted;
  call.code = "print(\"a\")\n1";
  call.logs = "a\n1";
  call.files = {{.path = "/output/x.csv", .media_type = "text/csv", .bytes = 3}};
  translation.Take(Of(ItemDone{{.id = "c", .content = call}}));
  EXPECT_THAT(events_,
              ElementsAre("STEP_STARTED", "TOOL_CALL_START c",
                          R"(TOOL_CALL_ARGS c {"code":"print(\"a\")\n)", "TOOL_CALL_ARGS c 1",
                          R"(TOOL_CALL_ARGS c "})", "TOOL_CALL_END c", "CUSTOM caisson.output",
                          "CUSTOM caisson.files", "TOOL_CALL_RESULT c a\n1", "STEP_FINISHED"));
}

TEST_F(TranslationTest, AnItemThatIsCompleteAtOnceHasAllItsEvents) {
  Translation translation = Make();
  translation.Take(Of(ItemDone{{.id = "m",
                                .content = model::MessageItem{.role = model::Role::kAssistant,
                                                              .parts = {model::TextPart{"hi"}}}}}));
  translation.Take(
      Of(ItemDone{{.id = "r", .content = model::ReasoningItem{.text = "Hm", .encrypted = "x"}}}));
  translation.Take(Of(ItemDone{{.id = "t",
                                .content = HostToolCall{.call_id = "m",
                                                        .tool = "add",
                                                        .arguments = "{}",
                                                        .run = RunId("r"),
                                                        .progress = CallProgress::kFailed,
                                                        .output = "no"}}}));
  translation.Take(Of(ItemDone{
      {.id = "f", .content = ClientCall{.call_id = "n", .tool = "show", .arguments = "{}"}}}));
  EXPECT_THAT(events_, ElementsAre("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT hi",
                                   "TEXT_MESSAGE_END", "REASONING_START", "REASONING_MESSAGE_START",
                                   "REASONING_MESSAGE_CONTENT Hm", "REASONING_ENCRYPTED_VALUE",
                                   "REASONING_MESSAGE_END", "REASONING_END",  //
                                   "STEP_STARTED", "TOOL_CALL_START t", "TOOL_CALL_ARGS t {}",
                                   "TOOL_CALL_END t", "TOOL_CALL_RESULT t no", "STEP_FINISHED",  //
                                   "STEP_STARTED", "TOOL_CALL_START f", "TOOL_CALL_ARGS f {}",
                                   "TOOL_CALL_END f", "STEP_FINISHED"));
}

TEST_F(TranslationTest, TheResultOfAWaitingCallBelongsToTheCallThatWasShown) {
  Translation translation = Make({{.run = "run_1", .tool_call = "old"}});
  CodeCall call{.call_id = "m", .code = "send()", .run = RunId("run_1")};
  translation.Take(Of(ItemAdded{{.id = "new", .content = call}}));
  call.progress = CallProgress::kCompleted;
  call.logs = "sent";
  translation.Take(Of(ItemDone{{.id = "new", .content = call}}));
  EXPECT_THAT(events_, ElementsAre("STEP_STARTED", "TOOL_CALL_RESULT old sent", "STEP_FINISHED"));
}

TEST_F(TranslationTest, WhatIsOpenAtTheEndIsClosed) {
  Translation translation = Make();
  translation.Take(Of(ItemAdded{{.id = "a", .content = model::MessageItem{}}}));
  translation.Take(Of(
      ItemAdded{{.id = "b", .content = CodeCall{.call_id = "m", .code = "", .run = RunId("r")}}}));
  translation.Take(Of(ItemAdded{{.id = "c", .content = model::ReasoningItem{}}}));
  events_.clear();
  translation.CloseAll();
  EXPECT_THAT(events_,
              ElementsAre("TEXT_MESSAGE_END", R"(TOOL_CALL_ARGS b {"code":""})", "TOOL_CALL_END b",
                          "STEP_FINISHED", "REASONING_MESSAGE_END", "REASONING_END"));
}

}  // namespace
}  // namespace caisson::agui
