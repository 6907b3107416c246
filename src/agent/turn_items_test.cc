#include "agent/turn_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/turn_events.h"
#include "agent/turn_record.h"

namespace caisson {
namespace {

std::vector<TurnItem> OneOfEach() {
  const std::string not_utf8 = "\xff\x00\x80";
  return {
      {.id = "msg_1",
       .content =
           model::MessageItem{
               .role = model::Role::kDeveloper,
               .parts = {model::TextPart{not_utf8}, model::RefusalPart{"no"},
                         model::DataPart{.media_type = "image/png", .bytes = not_utf8},
                         model::DataPart{.media_type = "", .url = "https://x", .filename = "f"}}}},
      {.id = "rs_1", .content = model::ReasoningItem{.text = "hm", .encrypted = "e"}},
      {.id = "ci_1",
       .content = CodeCall{.call_id = "c",
                           .code = "1",
                           .run = RunId("run_1"),
                           .progress = CallProgress::kWaiting,
                           .logs = "l",
                           .files = {{.path = "/output/a", .bytes = 7, .number = 2}},
                           .is_error = true},
       .is_cut = true},
      {.id = "mcp_1",
       .content = HostToolCall{.call_id = "c",
                               .tool = "t",
                               .arguments = "{}",
                               .run = RunId("run_2"),
                               .progress = CallProgress::kFailed,
                               .output = "o",
                               .is_error = true,
                               .approval = ApprovalId("apr_1")}},
      {.id = "fc_1", .content = ClientCall{.call_id = "c", .tool = "t", .arguments = "{}"}},
      {.id = "fco_1", .content = ClientResult{.call_id = "c", .parts = {model::TextPart{"r"}}}},
      {.id = "mcpr_1",
       .content = ApprovalRequest{.approval = ApprovalId("apr_1"),
                                  .call_item = "mcp_1",
                                  .tool = "t",
                                  .arguments = "{}",
                                  .expires_at = SystemTime(std::chrono::seconds(5))}},
      {.id = "mcpa_1",
       .content = ApprovalAnswer{.approval = ApprovalId("apr_1"),
                                 .approve = true,
                                 .reason = "r",
                                 .changes = Dict{{{"to", "bob"}}}}}};
}

TEST(TurnItemsTest, EveryKindOfItemIsReadAsItWasWritten) {
  const auto items = OneOfEach();
  ASSERT_EQ(items.size(), std::variant_size_v<decltype(TurnItem::content)>);
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].content.index(), i);
    const std::string bytes = Encode(items[i]);
    const auto read = DecodeTurnItem(bytes);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(Encode(*read), bytes);
    EXPECT_EQ(read->content.index(), i);
    EXPECT_EQ(read->is_cut, items[i].is_cut);
    EXPECT_TRUE(items[i].id.starts_with(PrefixOf(items[i])));
    EXPECT_GT(TextBytes(items[i]), items[i].id.size());
  }
  const auto code = std::get<CodeCall>(DecodeTurnItem(Encode(items[2]))->content);
  EXPECT_EQ(code.files.at(0).bytes, 7u);
  EXPECT_EQ(code.progress, CallProgress::kWaiting);
}

TEST(TurnItemsTest, OtherBytesAreRefused) {
  EXPECT_FALSE(DecodeTurnItem(""));
  EXPECT_FALSE(DecodeTurnItem("x"));
  for (const TurnItem& item : OneOfEach()) {
    const std::string bytes = Encode(item);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(DecodeTurnItem(bytes.substr(0, size)));
    }
  }
  std::string bytes;
  ASSERT_TRUE(EncodeValue(Value(Dict{{{"kind", std::int64_t{99}}}}), bytes));
  EXPECT_FALSE(DecodeTurnItem(bytes));
  bytes.clear();
  ASSERT_TRUE(EncodeValue(Value(Dict{{{"id", std::int64_t{1}}}}), bytes));
  EXPECT_FALSE(DecodeTurnItem(bytes));
}

TEST(TurnItemsTest, AStoredTurnIsReadAsItWasWritten) {
  TurnRecord record;
  record.view = {.agent = "a",
                 .state = TurnState::kRunning,
                 .ending = TurnEnding::kModel,
                 .error = "e",
                 .input = OneOfEach(),
                 .output = OneOfEach(),
                 .usage = {.input = 1, .cached_input = 2, .output = 3, .reasoning = 4},
                 .model = "m",
                 .conversation = ConversationId("conv_1"),
                 .style = TurnSpec::Style::kBackground,
                 .door_data = "d",
                 .ended_at = SystemTime(std::chrono::seconds(9))};
  record.spec = {.agent = "",
                 .instructions = "i",
                 .client_tools = {{.name = "t", .description = "d"}},
                 .tool_choice = {.mode = model::ToolChoice::Mode::kNamed, .name = "t"},
                 .parallel_tool_calls = false,
                 .max_output_tokens = 5,
                 .max_calls = 0,
                 .temperature = 0.0,
                 .top_p = 0.5};
  record.caller = CallerRecord{.values = {{CallerVariable::kUserId, "ann"}},
                               .async_delivery = AsyncDelivery::kUnsupported};
  record.adopted = {OneOfEach()[2]};
  record.decided = {ApprovalId("apr_1")};
  record.progress = {
      .replies = 1, .calls = 2, .failures = 3, .active = std::chrono::seconds(4), .events = 5};
  const std::string bytes = Encode(record);
  const auto read = DecodeTurnRecord(bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(Encode(*read), bytes);
  EXPECT_EQ(read->caller, record.caller);
  EXPECT_EQ(read->spec.max_calls, 0u);
  EXPECT_EQ(read->progress.events, 5u);
  EXPECT_EQ(read->decided, record.decided);
  // Only the view of an ended turn is kept.
  record.view.state = TurnState::kCompleted;
  const auto ended = DecodeTurnRecord(Encode(record));
  EXPECT_FALSE(ended->caller);
  EXPECT_EQ(ended->spec.instructions, "");
  EXPECT_EQ(ended->progress.events, 5u);
}

TEST(TurnEventsTest, EventsAreReadAsTheyWereWritten) {
  std::vector<TurnEvent> events = {{.event = TurnBegan{}},
                                   {.event = TurnEnded{TurnState::kFailed}}};
  for (const TurnItem& item : OneOfEach()) {
    events.push_back({.event = ItemAdded{item}});
    events.push_back({.event = ItemDone{item}});
    events.push_back({.event = ItemDelta{item.id, ItemDelta::Kind::kOutput, "x"}});
  }
  for (const TurnEvent& event : events) {
    const auto read = DecodeTurnEvent(Encode(event));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(Encode(*read), Encode(event));
  }
  EXPECT_FALSE(DecodeTurnEvent(""));
}

TEST(TurnEventsTest, WhatALostReplicaHadBegunIsCut) {
  TurnItem message{.id = "m", .content = model::MessageItem{.role = model::Role::kAssistant}};
  TurnItem stored{.id = "c", .content = HostToolCall{.call_id = "1", .tool = "t", .arguments = ""}};
  TurnItem unstored = stored;
  unstored.id = "d";
  std::vector<TurnItem> output = {stored};
  const auto open = AddEvents({{.event = ItemAdded{stored}},
                               {.event = ItemAdded{message}},
                               {.event = ItemDelta{"m", ItemDelta::Kind::kText, "ha"}},
                               {.event = ItemDelta{"m", ItemDelta::Kind::kText, "lf"}},
                               {.event = ItemAdded{unstored}}},
                              output);
  EXPECT_EQ(open, (std::set<std::string>{"c", "d", "m"}));
  ASSERT_EQ(output.size(), 3u);
  EXPECT_FALSE(output[0].is_cut);  // It was stored, so it may have been made.
  EXPECT_TRUE(output[1].is_cut);
  EXPECT_EQ(std::get<model::TextPart>(std::get<model::MessageItem>(output[1].content).parts.at(0)),
            model::TextPart{"half"});
  EXPECT_TRUE(output[2].is_cut);
}

}  // namespace
}  // namespace caisson
