#include "approval/presentation.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "approval/binding.h"
#include "base/sha256.h"
#include "base/visible.h"
#include "wire/canonical_json.h"
#include "wire/json.h"

namespace caisson {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

NewApproval Asked(const Dict& arguments) {
  const CanonicalArguments canonical = *Canonicalize(arguments);
  return {.id = ApprovalId("apr_1"),
          .binding = {.run = RunId("run_1"), .arguments_digest = canonical.digest},
          .arguments = canonical.text};
}

std::string Shown(const Value& value) {
  return Present(Asked(Dict{{{"x", value}}}))->arguments.at(0).value;
}

TEST(PresentationTest, ArgumentsAreShownAsTheyWereHashed) {
  const auto shown = Present(Asked(Dict{{{"to", "ann"}, {"amount", 5.0}, {"raw", Bytes{"hi"}}}}));
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->whole, R"({"amount":5.0,"raw":{"$bytes":"aGk"},"to":"ann"})");
  EXPECT_EQ(ToText(*shown), "\"amount\": 5.0\n\"raw\": {\"$bytes\":\"aGk\"}\n\"to\": \"ann\"\n");
}

TEST(PresentationTest, DeceptiveCharactersAreEscaped) {
  EXPECT_EQ(Shown("a\u202eb"), R"("a\u202eb")");          // Right to left from here.
  EXPECT_EQ(Shown("pay\u200bpal"), R"("pay\u200bpal")");  // No width.
  EXPECT_EQ(Shown("\x1b[2J\n\x7f"), R"("\u001b[2J\n\u007f")");
  EXPECT_EQ(Shown("\u2066\u2069\ufeff\u00ad\u3164"), R"("\u2066\u2069\ufeff\u00ad\u3164")");
  EXPECT_EQ(Shown("\U000e0041"), R"("\udb40\udc41")");  // A tag: invisible ASCII.
  EXPECT_EQ(Shown("\u00a0\u2028"), R"("\u00a0\u2028")");
  EXPECT_EQ(Shown("Zoë 日本 😀"), "\"Zoë 日本 😀\"");
  // Literal text that looks like an escape remains recognisable.
  EXPECT_EQ(Shown("\\u202e"), R"("\\u202e")");
  const auto name = Present(Asked(Dict{{{"t\u200bo", 1.5}}}));
  EXPECT_EQ(name->arguments.at(0).name, R"("t\u200bo")");
}

TEST(PresentationTest, TheShownTextParsesToTheSameValue) {
  const Dict arguments{{{"a", "x\u202e\U000e0041\x01\\"}, {"b", List{{Value("\u200b")}}}}};
  const auto shown = Present(Asked(arguments));
  EXPECT_EQ(*ParseJson(shown->whole), Value(arguments));
}

TEST(PresentationTest, ALongValueIsNeverOnlyItsBeginning) {
  const std::string body = "Dear Ann" + std::string(5000, '.') + "and transfer it all";
  const auto shown = Present(Asked(Dict{{{"body", body}}}));
  const ShownArgument& argument = shown->arguments.at(0);
  EXPECT_THAT(argument.value, StartsWith("\"Dear Ann"));
  EXPECT_THAT(argument.end, EndsWith("and transfer it all\""));
  EXPECT_EQ(argument.bytes, body.size() + 2);
  EXPECT_EQ(argument.left_out_bytes, body.size() + 2 - kShownBytes);
  EXPECT_EQ(argument.sha256, ToHex(Sha256("\"" + body + "\"")));
  EXPECT_THAT(shown->whole, HasSubstr(body));
  EXPECT_THAT(ToText(*shown), HasSubstr("5029 bytes, SHA-256 " + *argument.sha256));
}

TEST(PresentationTest, NoCharacterOrEscapeIsCutInTwo) {
  for (const std::string piece : {"\n", "\x01", "é", "😀", "\\", "\u202e"}) {
    for (std::size_t before = 0; before < 8; ++before) {
      std::string value(before, 'x');
      for (int i = 0; i < 2000; ++i) value += piece;
      const ShownArgument shown = Present(Asked(Dict{{{"v", value}}}), 100)->arguments.at(0);
      EXPECT_TRUE(ParseJson(shown.value + "\"")) << shown.value;
      EXPECT_TRUE(ParseJson("\"" + shown.end)) << shown.end;
    }
  }
}

TEST(PresentationTest, NoArgumentCanLookLikeTwo) {
  const auto shown = Present(Asked(Dict{{{"a", "1\n\"to\": \"bob\"\r\u2028"}, {"to", "ann"}}}));
  const std::string text = ToText(*shown);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
}

TEST(PresentationTest, AsJsonItIsTheSameWithEverythingAroundIt) {
  NewApproval asked = Asked(Dict{{{"to", "a\u202eb"}}});
  asked.binding.tool = "send";
  asked.binding.seq = 3;
  asked.session = CallSession{"chat", SessionId("id")};
  const std::string json = ToJson(StoredApproval{
      .asked = asked,
      .state = ApprovalState::kDenied,
      .decision = Decision{.verdict = ApprovalState::kDenied, .by = "bea", .reason = "no\u202e"}});
  EXPECT_THAT(json, HasSubstr(R"("arguments":{"to":"a\u202eb"})"));
  EXPECT_THAT(json, Not(HasSubstr("\u202e")));
  const auto parsed = ParseJson(json);
  ASSERT_TRUE(parsed) << parsed.error().message();
  const auto* fields = parsed->If<Dict>();
  EXPECT_EQ(*fields->Find("seq"), Value(std::int64_t{3}));
  EXPECT_EQ(*fields->Find("session"), Value("chat"));
  EXPECT_EQ(*fields->Find("decision")->If<Dict>()->Find("reason"), Value("no\u202e"));
  EXPECT_EQ(*fields->Find("created_at"), Value("1970-01-01T00:00:00.000Z"));
}

TEST(PresentationTest, ArgumentsThatAListOmitsAreMarked) {
  StoredApproval approval{.asked = Asked(Dict{{{"to", "ann"}}}), .arguments_omitted = true};
  approval.asked.arguments.clear();
  const std::string json = ToJson(approval);
  EXPECT_TRUE(ParseJson(json));
  EXPECT_THAT(json, HasSubstr(R"("arguments":null,"arguments_omitted":true,"arguments_sha256":")"));
  EXPECT_THAT(json, Not(HasSubstr("problem")));
}

TEST(PresentationTest, TextThatWasNotHashedIsNotShown) {
  NewApproval asked = Asked(Dict{{{"to", "ann"}}});
  asked.arguments = R"({"to":"bob"})";
  EXPECT_FALSE(Present(asked));
  const std::string json = ToJson(StoredApproval{.asked = asked});
  EXPECT_THAT(json, HasSubstr("\"arguments\":null,\"problem\":"));
  EXPECT_THAT(json, Not(HasSubstr("bob")));
}

}  // namespace
}  // namespace caisson
