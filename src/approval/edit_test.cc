#include "approval/edit.h"

#include <gmock/gmock.h>

#include "approval/binding.h"
#include "wire/json.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Tool> MakePay(std::string description = "") {
  return *Tool::Make({.name = "pay",
                      .description = std::move(description),
                      .input_schema = *ParseJson(R"({"type": "object", "properties": {
                          "to": {"type": "string"}, "amount": {"type": "number", "maximum": 1000},
                          "tags": {"type": "array"}, "note": {"type": ["string", "null"]}},
                          "required": ["to"]})")},
                     Inline([](const Dict&) -> Result<Value> { return Value(); }));
}

Dict Json(const char* text) {
  return *ParseJson(text)->If<Dict>();
}

class EditArgumentsTest : public ::testing::Test {
 protected:
  Result<std::optional<EditedArguments>> Edit(const char* changes) {
    return EditArguments(asked_, Json(changes), *pay_);
  }
  NewApproval Asked(const char* arguments) {
    const CanonicalArguments canonical = *Canonicalize(Json(arguments));
    return {.id = ApprovalId("apr_1"),
            .binding = *BindCall({.run = RunId("run_1")}, *pay_, canonical),
            .arguments = canonical.text};
  }

  const std::shared_ptr<const Tool> pay_ = MakePay();
  NewApproval asked_ = Asked(R"({"to": "bob", "amount": 500, "tags": ["a"], "note": null})");
};

// I5
TEST_F(EditArgumentsTest, TheResultIsWhatIsHashed) {
  const auto edited = Edit(R"({"amount": 50})");
  ASSERT_TRUE(edited) << edited.error().message();
  EXPECT_EQ((*edited)->text, R"({"amount":50,"note":null,"tags":["a"],"to":"bob"})");
  const auto parsed = ParseArguments((*edited)->text, (*edited)->digest);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed->Find("amount"), Value(std::int64_t{50}));
  EXPECT_NE((*edited)->digest, asked_.binding.arguments_digest);
}

TEST_F(EditArgumentsTest, ChangesThatChangeNothingAreNoEdit) {
  EXPECT_EQ(*Edit("{}"), std::nullopt);
  EXPECT_EQ(*Edit(R"({"amount": 500, "to": "bob"})"), std::nullopt);
}

TEST_F(EditArgumentsTest, OnlyArgumentsOfTheCallCanChange) {
  const auto edited = Edit(R"({"amount": 5, "bcc": "eve"})");
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(edited.error().message(), HasSubstr("\"bcc\" is not an argument of this call"));
  // The tool knows it, but the call did not use it.
  asked_ = Asked(R"({"to": "bob"})");
  EXPECT_FALSE(Edit(R"({"amount": 5})"));
}

TEST_F(EditArgumentsTest, TypesStayAsTheyWere) {
  for (const char* changes :
       {R"({"amount": "5"})", R"({"amount": true})", R"({"amount": null})", R"({"to": 1})",
        R"({"to": ["bob"]})", R"({"tags": {"a": 1}})", R"({"note": "x"})"}) {
    const auto edited = Edit(changes);
    ASSERT_FALSE(edited) << changes;
    EXPECT_THAT(edited.error().message(), HasSubstr("must stay of type")) << changes;
  }
  EXPECT_TRUE(Edit(R"({"amount": 5.5})"));  // JSON has one type of numbers.
}

TEST_F(EditArgumentsTest, TheToolMustAcceptTheResult) {
  const auto edited = Edit(R"({"amount": 5000})");
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(edited.error().message(), HasSubstr("/amount"));
}

TEST_F(EditArgumentsTest, AToolThatHasChangedCannotCheckAnything) {
  const auto edited = EditArguments(asked_, Json(R"({"amount": 5})"), *MakePay("another one"));
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().code(), ErrorCode::kFailedPrecondition);
}

TEST_F(EditArgumentsTest, ATextThatWasNotHashedIsNotChanged) {
  asked_.arguments = R"({"to":"eve"})";
  const auto edited = Edit("{}");
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().code(), ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace caisson
