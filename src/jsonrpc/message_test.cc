#include "jsonrpc/message.h"

#include <gtest/gtest.h>

#include "wire/object.h"

namespace caisson::jsonrpc {
namespace {

RpcCode CodeOf(std::string_view text) {
  const Message message = ReadMessage(text);
  const auto* bad = std::get_if<BadMessage>(&message);
  EXPECT_NE(bad, nullptr) << text;
  return bad == nullptr ? RpcCode{} : bad->error.code;
}

TEST(MessageTest, TellsRequestsNotificationsAndResponsesApart) {
  const Message request =
      ReadMessage(R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":1}})");
  ASSERT_TRUE(std::holds_alternative<Request>(request));
  EXPECT_EQ(std::get<Request>(request).id, Value("a"));
  EXPECT_EQ(*std::get<Request>(request).params.Find("x"), Value(1));
  EXPECT_TRUE(
      std::holds_alternative<Notification>(ReadMessage(R"({"jsonrpc":"2.0","method":"x"})")));
  const Message response = ReadMessage(R"({"jsonrpc":"2.0","id":7,"result":{}})");
  ASSERT_TRUE(std::holds_alternative<Response>(response));
  EXPECT_EQ(std::get<Response>(response).id, Value(7));
}

TEST(MessageTest, KeepsTheFieldsOfAnError) {
  const Message message =
      ReadMessage(R"({"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":[1]}})");
  const auto& error = std::get<RpcError>(std::get<Response>(message).outcome);
  EXPECT_EQ(error.code, RpcCode::kInvalidParams);
  EXPECT_EQ(error.message, "no");
  EXPECT_EQ(error.data, Value(List{{Value(1)}}));
}

TEST(MessageTest, RefusesTextThatIsNotAMessage) {
  EXPECT_EQ(CodeOf("{"), RpcCode::kParseError);
  EXPECT_EQ(CodeOf("[]"), RpcCode::kInvalidRequest);
  EXPECT_EQ(CodeOf("{}"), RpcCode::kInvalidRequest);
  EXPECT_EQ(CodeOf(R"({"jsonrpc":"2.0","id":1})"), RpcCode::kInvalidRequest);
  EXPECT_EQ(CodeOf(R"({"jsonrpc":"2.0","id":null,"method":"x"})"), RpcCode::kInvalidRequest);
  EXPECT_EQ(CodeOf(R"({"jsonrpc":"2.0","id":1,"method":"x","params":[]})"),
            RpcCode::kInvalidParams);
}

TEST(MessageTest, ARefusalNamesTheRequestWhereItCan) {
  const Message message = ReadMessage(R"({"jsonrpc":"2.0","id":5,"method":"x","params":3})");
  EXPECT_EQ(std::get<BadMessage>(message).id, Value(5));
}

TEST(MessageTest, ABatchIsAnArrayOfMessages) {
  const Batch batch = ReadBatch(R"([{"jsonrpc":"2.0","id":1,"method":"a"},7])");
  EXPECT_TRUE(batch.is_array);
  ASSERT_EQ(batch.messages.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Request>(batch.messages[0]));
  EXPECT_TRUE(std::holds_alternative<BadMessage>(batch.messages[1]));
  EXPECT_EQ(BatchText({"1", "2"}), "[1,2]");
}

TEST(MessageTest, AnEmptyOrTooLargeBatchIsRefused) {
  std::string many = "[0";
  for (std::size_t i = 0; i < kMaxBatch; ++i) many += ",0";
  for (const std::string& text : {std::string("[]"), many + "]"}) {
    const Batch batch = ReadBatch(text);
    EXPECT_FALSE(batch.is_array);
    ASSERT_EQ(batch.messages.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<BadMessage>(batch.messages[0]));
  }
}

TEST(MessageTest, WritesOneLine) {
  EXPECT_EQ(ReplyText(Value(1), Object({{"a", "b\n"}})),
            R"({"jsonrpc":"2.0","id":1,"result":{"a":"b\n"}})");
  EXPECT_EQ(ReplyText({}, RpcError{.code = RpcCode::kParseError, .message = "x"}),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}})");
  EXPECT_EQ(NotificationText("n", {}), R"({"jsonrpc":"2.0","method":"n","params":{}})");
}

TEST(MessageTest, DeceptiveCharactersInAMessageAreEscaped) {
  const std::string text = ReplyText(Value(1), Object({{"a", "x\u202ey\u200b\U000e0041é"}}));
  EXPECT_EQ(text, R"({"jsonrpc":"2.0","id":1,"result":{"a":"x\u202ey\u200b\udb40\udc41é"}})");
  const auto read = std::get<Response>(ReadMessage(text));
  EXPECT_EQ(std::get<Value>(read.outcome), Value(Object({{"a", "x\u202ey\u200b\U000e0041é"}})));
}

TEST(MessageTest, AResultThatJsonCannotHoldIsAnInternalError) {
  const std::string text = ReplyText(Value(1), Object({{"a", Bytes{"x"}}}));
  EXPECT_NE(text.find("-32603"), std::string::npos) << text;
}

}  // namespace
}  // namespace caisson::jsonrpc
