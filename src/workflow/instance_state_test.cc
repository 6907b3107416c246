#include "workflow/instance_state.h"

#include <gtest/gtest.h>

#include "wire/json.h"
#include "wire/object.h"

namespace caisson {
namespace {

InstanceState Full() {
  InstanceState state;
  state.status = InstanceStatus::kWaiting;
  state.workflow = "w";
  state.digest = "d";
  state.number = 7;
  state.superstep = 3;
  state.deliveries = {{.to = ExecutorId("a"), .message = Value(std::int64_t{1})}};
  state.gathered[2] = {{Value("x"), Value("y")}, {}};
  state.shared = Object({{"k", "v"}});
  state.requests = {{.id = RequestId("req_1"),
                     .executor = ExecutorId("b"),
                     .prompt = "?",
                     .message = Value("m"),
                     .response = Value(Dict{}),
                     .asked_at = SystemTime(std::chrono::seconds(5))}};
  state.approvals = {
      {.id = ApprovalId("apr_1"), .run = RunId("run_1"), .executor = ExecutorId("c")}};
  state.outputs = {{.executor = ExecutorId("d"), .value = Value(true)}};
  state.taken[4] = 2;
  state.messages = 9;
  state.begun_at = SystemTime(std::chrono::seconds(6));
  return state;
}

TEST(InstanceStateTest, SurvivesTheWayThroughBytes) {
  const auto bytes = Encode(Full(), 1u << 20);
  ASSERT_TRUE(bytes);
  const auto back = DecodeInstanceState(*bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*Encode(*back, 1u << 20), *bytes);
  EXPECT_EQ(back->gathered.at(2)[0][1], Value("y"));
  EXPECT_EQ(back->begun_at, Full().begun_at);
  EXPECT_EQ(back->requests[0].asked_at, Full().requests[0].asked_at);
  EXPECT_EQ(back->taken.at(4), 2u);
}

TEST(InstanceStateTest, RefusesBytesThatAreNoState) {
  const std::string bytes = *Encode(Full(), 1u << 20);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(DecodeInstanceState(std::string_view(bytes).substr(0, cut))) << cut;
  }
  std::string other;
  ASSERT_TRUE(EncodeValue(Value(Object({{"format", std::int64_t{1}}})), other));
  EXPECT_FALSE(DecodeInstanceState(other));
}

TEST(InstanceStateTest, IsBounded) {
  EXPECT_EQ(Encode(Full(), 20).error().code(), ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace caisson
