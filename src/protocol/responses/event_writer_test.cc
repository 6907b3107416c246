#include "protocol/responses/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/json.h"
#include "wire/object.h"

namespace caisson::responses {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EventWriterTest : public testing::Test {
 protected:
  void Give(decltype(TurnEvent::event) event) {
    Take(writer_.Write({.number = next_++, .event = std::move(event)}, {}));
  }
  void Finish(TurnState state) {
    Take(writer_.Finish({.id = ResponseId("resp_1"), .agent = "a", .state = state}, {}));
  }
  void Take(std::vector<net::Event> events) {
    for (net::Event& event : events) {
      types_.push_back(event.name.substr(std::string_view("response.").size()));
      all_.push_back(std::move(event));
    }
  }

  EventWriter writer_{{.id = "resp_1", .agent = "a"}};
  std::uint64_t next_ = 0;
  std::vector<std::string> types_;
  std::vector<net::Event> all_;
};

TEST_F(EventWriterTest, TextHasItsEventsInOrder) {
  const model::MessageItem empty{.role = model::Role::kAssistant};
  Give(TurnBegan{});
  Give(ItemAdded{{.id = "m", .content = empty}});
  Give(ItemDelta{.item = "m", .text = "Hel"});
  Give(ItemDelta{.item = "m", .text = "lo"});
  Give(ItemDone{{.id = "m",
                 .content = model::MessageItem{.role = model::Role::kAssistant,
                                               .parts = {model::TextPart{"Hello"}}}}});
  Give(TurnEnded{});
  Finish(TurnState::kCompleted);
  EXPECT_THAT(types_,
              ElementsAre("created", "in_progress", "output_item.added", "content_part.added",
                          "output_text.delta", "output_text.delta", "output_text.done",
                          "content_part.done", "output_item.done", "completed"));
  EXPECT_THAT(all_[6].data, HasSubstr(R"("text":"Hello")"));
  for (std::size_t i = 0; i < all_.size(); ++i) {
    EXPECT_THAT(all_[i].data, HasSubstr("\"sequence_number\":" + std::to_string(i) + "}"));
    EXPECT_THAT(all_[i].data, HasSubstr("\"type\":\"" + all_[i].name + "\""));
    EXPECT_TRUE(ParseJson(all_[i].data)) << all_[i].data;
  }
}

TEST_F(EventWriterTest, TextThatWasNotStreamedComesWithTheEnd) {
  Give(ItemDone{{.id = "m",
                 .content = model::MessageItem{
                     .role = model::Role::kAssistant,
                     .parts = {model::TextPart{"Hello"}, model::RefusalPart{"No"}}}}});
  EXPECT_THAT(types_, ElementsAre("created", "in_progress", "output_item.added",
                                  "content_part.added", "output_text.delta", "output_text.done",
                                  "content_part.done", "content_part.added", "refusal.delta",
                                  "refusal.done", "content_part.done", "output_item.done"));
}

TEST_F(EventWriterTest, CodeIsWrittenThenInterpreted) {
  const CodeCall call{.call_id = "c", .code = "6*7", .run = RunId("run_1")};
  Give(ItemAdded{{.id = "ci", .content = call}});
  Give(ItemDelta{.item = "ci", .kind = ItemDelta::Kind::kCode, .text = "6*"});
  Give(ItemDelta{.item = "ci", .kind = ItemDelta::Kind::kCode, .text = "7"});
  Give(ItemDelta{.item = "ci", .kind = ItemDelta::Kind::kOutput, .text = "42"});
  CodeCall done = call;
  done.progress = CallProgress::kCompleted;
  Give(ItemDone{{.id = "ci", .content = done}});
  EXPECT_THAT(types_,
              ElementsAre("created", "in_progress", "output_item.added",
                          "code_interpreter_call.in_progress", "code_interpreter_call_code.delta",
                          "code_interpreter_call_code.delta", "code_interpreter_call_code.done",
                          "code_interpreter_call.interpreting", "code_interpreter_call.completed",
                          "output_item.done"));
}

TEST_F(EventWriterTest, ACallThatWaitsIsShownByItsApprovalAlone) {
  HostToolCall call{.call_id = "c", .tool = "send", .arguments = "{}", .run = RunId("run_1")};
  Give(ItemAdded{{.id = "t", .content = call}});
  Give(ItemDelta{.item = "t", .kind = ItemDelta::Kind::kArguments, .text = "{}"});
  call.progress = CallProgress::kWaiting;
  Give(ItemDone{{.id = "t", .content = call}});
  const TurnItem asked{
      .id = "x",
      .content = ApprovalRequest{
          .approval = ApprovalId("apr_1"), .call_item = "t", .tool = "send", .arguments = "{}"}};
  Give(ItemAdded{asked});
  Give(ItemDone{asked});
  EXPECT_THAT(types_,
              ElementsAre("created", "in_progress", "output_item.added", "output_item.done"));
  EXPECT_THAT(all_[3].data,
              HasSubstr(R"("item":{"id":"mcpr_apr_1","type":"mcp_approval_request")"));
  EXPECT_THAT(all_[3].data, HasSubstr(R"("output_index":0)")) << "the hidden call takes no place";
}

TEST_F(EventWriterTest, AToolOfTheHostIsWrittenWhenItHasEnded) {
  HostToolCall call{.call_id = "c", .tool = "f", .arguments = "{}", .run = RunId("run_1")};
  Give(ItemAdded{{.id = "t", .content = call}});
  call.progress = CallProgress::kFailed;
  call.is_error = true;
  call.output = "broken";
  Give(ItemDone{{.id = "t", .content = call}});
  EXPECT_THAT(types_,
              ElementsAre("created", "in_progress", "output_item.added", "mcp_call.in_progress",
                          "mcp_call_arguments.delta", "mcp_call_arguments.done", "mcp_call.failed",
                          "output_item.done"));
  EXPECT_THAT(all_.back().data, HasSubstr(R"("output":null,"error":"broken")"));
}

TEST_F(EventWriterTest, OpenItemsEndBeforeAFailedTurn) {
  Give(ItemAdded{{.id = "m", .content = model::MessageItem{.role = model::Role::kAssistant}}});
  Give(ItemDelta{.item = "m", .text = "Hal"});
  Finish(TurnState::kFailed);
  EXPECT_THAT(types_, ElementsAre("created", "in_progress", "output_item.added",
                                  "content_part.added", "output_text.delta", "output_text.done",
                                  "content_part.done", "output_item.done", "failed"));
  EXPECT_THAT(all_[7].data, HasSubstr(R"("status":"incomplete")"));
}

// The client refuses events of unknown types, so there is none for a cancellation.
TEST_F(EventWriterTest, ACancelledTurnEndsAsFailedWithItsOwnStatus) {
  Give(TurnBegan{});
  Finish(TurnState::kCancelled);
  EXPECT_THAT(types_, ElementsAre("created", "in_progress", "failed"));
  EXPECT_THAT(all_.back().data, HasSubstr(R"("status":"cancelled")"));
}

TEST_F(EventWriterTest, ATurnThatFailsBeforeItsFirstEventIsAStreamAsWell) {
  Finish(TurnState::kFailed);
  EXPECT_THAT(types_, ElementsAre("created", "in_progress", "failed"));
}

TEST_F(EventWriterTest, InvalidUtf8StaysJson) {
  Give(ItemAdded{{.id = "m", .content = model::MessageItem{.role = model::Role::kAssistant}}});
  Give(ItemDelta{.item = "m", .text = "\xff\n\"\xe2\x80"});
  EXPECT_TRUE(ParseJson(all_.back().data)) << all_.back().data;
}

}  // namespace
}  // namespace caisson::responses
