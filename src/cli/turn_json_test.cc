#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/turn_display.h"

namespace caisson::cli {
namespace {

TEST(TurnJsonTest, PiecesAreEventsOfTheirKind) {
  EXPECT_EQ(ToJsonLine(TurnEvent{.event = ItemDelta{.item = "msg_1", .text = "Hi\n"}}),
            "{\"event\":\"text\",\"item\":\"msg_1\",\"text\":\"Hi\\n\"}\n");
  EXPECT_EQ(ToJsonLine(TurnEvent{
                .event = ItemDelta{.item = "ci_1", .kind = ItemDelta::Kind::kCode, .text = "6*7"}}),
            "{\"event\":\"code\",\"item\":\"ci_1\",\"text\":\"6*7\"}\n");
}

TEST(TurnJsonTest, ItemsThatAreDoneAreWhole) {
  const TurnItem item{.id = "ci_1",
                      .content = CodeCall{.call_id = "c",
                                          .code = "6*7",
                                          .run = RunId("run_1"),
                                          .progress = CallProgress::kCompleted,
                                          .logs = "42"}};
  EXPECT_EQ(ToJsonLine(TurnEvent{.event = ItemDone{item}}),
            "{\"event\":\"done\",\"item\":{\"id\":\"ci_1\",\"type\":\"code\",\"run\":\"run_1\","
            "\"status\":\"completed\",\"code\":\"6*7\",\"logs\":\"42\",\"files\":[],"
            "\"is_error\":false}}\n");
}

TEST(TurnJsonTest, BytesThatAreNotTextDoNotBreakTheLine) {
  const std::string line =
      ToJsonLine(TurnEvent{.event = ItemDelta{.item = "msg_1", .text = "a\xff\n\x01"}});
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_THAT(line, ::testing::HasSubstr("\\u0001"));
}

TEST(TurnJsonTest, AnEndSaysHowTheTurnEnded) {
  EXPECT_EQ(ToJsonLine(TurnView{.id = ResponseId("resp_1"),
                                .agent = "a",
                                .state = TurnState::kIncomplete,
                                .ending = TurnEnding::kCalls}),
            "{\"event\":\"turn\",\"id\":\"resp_1\",\"state\":\"incomplete\",\"ending\":\"calls\","
            "\"error\":null}\n");
  EXPECT_EQ(ToJsonLine(TurnEvent{.event = TurnBegan{}}), "");
}

}  // namespace
}  // namespace caisson::cli
