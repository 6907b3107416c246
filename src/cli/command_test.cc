#include "cli/command.h"

#include <gtest/gtest.h>

namespace caisson::cli {
namespace {

using Words = std::vector<std::string>;

// `tool greet`, with one variable of each kind.
class CommandTest : public ::testing::Test {
 protected:
  CommandTest() {
    Command greet = line_.program().AddSubcommand("greet", "Say hello");
    greet.SetFooter("The end.");
    greet.AddOption("NAME", name_, "Whom", {.required = true});
    greet.AddOption("--from", from_, "Who does", {.value = "PERSON"});
    greet.AddOption("--word", words_, "What to say");
    greet.AddOption("--times", times_, "How often", {.show_default = true});
    greet.AddOption("--secret", secret_, "For tests", {.hidden = true});
    greet.AddFlag("--loud", loud_, "In capitals");
    greet.AddFlag("--quiet", quiet_, "Whispered", {.excludes = "--loud"});
    greet.OnChosen([this] { return ++chosen_ + 6; });
    Command group = line_.program().AddSubcommand("group", "Has subcommands");
    group.RequireSubcommand();
    group.AddSubcommand("one", "The only one").OnChosen([this] { return ++chosen_; });
  }

  Result<CommandLine::Ran> Run(const Words& words) {
    std::vector<const char*> arguments{"tool"};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return line_.Run(static_cast<int>(arguments.size()), arguments.data());
  }

  std::string Mistake(const Words& words) {
    const auto ran = Run(words);
    EXPECT_EQ(chosen_, 0);
    return ran ? "none" : ran.error().message();
  }

  std::string Text(const Words& words) {
    const auto ran = Run(words);
    EXPECT_EQ(chosen_, 0);
    return ran ? std::get<std::string>(*ran) : ran.error().message();
  }

  CommandLine line_{
      {.name = "tool", .description = "A tool.", .footer = "See greet.", .version = "tool 1"}};
  std::string name_;
  std::optional<std::string> from_;
  Words words_;
  std::int64_t times_ = 3;
  std::string secret_ = "none";
  bool loud_ = false;
  bool quiet_ = false;
  int chosen_ = 0;
};

TEST_F(CommandTest, TheChosenCommandRunsWithItsVariablesSet) {
  const auto ran = Run(
      {"greet", "ann", "--from", "bob", "--times", "-7", "--loud", "--secret=x", "--word", "hi"});
  ASSERT_TRUE(ran);
  EXPECT_EQ(std::get<int>(*ran), 7);
  EXPECT_EQ(chosen_, 1);
  EXPECT_EQ(name_, "ann");
  EXPECT_EQ(from_, "bob");
  EXPECT_EQ(times_, -7);
  EXPECT_EQ(secret_, "x");
  EXPECT_EQ(words_, Words{"hi"});
  EXPECT_TRUE(loud_);
  EXPECT_FALSE(quiet_);
}

TEST_F(CommandTest, OptionsThatAreNotGivenKeepTheirValues) {
  ASSERT_TRUE(Run({"greet", "ann"}));
  EXPECT_EQ(chosen_, 1);
  EXPECT_EQ(from_, std::nullopt);
  EXPECT_EQ(times_, 3);
  EXPECT_EQ(secret_, "none");
  EXPECT_TRUE(words_.empty());
}

TEST_F(CommandTest, ARepeatedOptionTakesOneValueEachTime) {
  ASSERT_TRUE(Run({"greet", "--word", "good", "--word", "day", "ann"}));
  EXPECT_EQ(words_, (Words{"good", "day"}));
  EXPECT_EQ(name_, "ann");
}

TEST_F(CommandTest, MistakesAreToldAndNothingRuns) {
  EXPECT_EQ(Mistake({}), "no command is given");
  EXPECT_EQ(Mistake({"greet"}), "NAME is required");
  EXPECT_EQ(Mistake({"group"}), "A subcommand is required");
  EXPECT_EQ(Mistake({"what"}), "The following argument was not expected: what");
  EXPECT_EQ(Mistake({"greet", "ann", "--what"}), "The following argument was not expected: --what");
  EXPECT_EQ(Mistake({"greet", "ann", "--times", "x"}), "Could not convert: --times = x");
  EXPECT_EQ(Mistake({"greet", "ann", "--loud", "--quiet"}), "--loud excludes --quiet");
  EXPECT_NE(Mistake({"greet", "ann", "--from", "a", "--from", "b"}), "none");
  EXPECT_NE(Mistake({"greet", "ann", "--from"}), "none");
}

TEST_F(CommandTest, HelpTellsWhatIsNotHidden) {
  const std::string help = Text({"greet", "--help"});
  for (const char* part :
       {"Say hello", "NAME TEXT REQUIRED", "--from PERSON", "=3", "In capitals", "The end."}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << " in\n" << help;
  }
  EXPECT_EQ(help.find("--secret"), std::string::npos);
  EXPECT_EQ(help.find("For tests"), std::string::npos);
}

TEST_F(CommandTest, TheProgramHasHelpAndAVersion) {
  const std::string help = Text({"--help"});
  for (const char* part : {"A tool.", "greet", "Has subcommands", "See greet."}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << " in\n" << help;
  }
  EXPECT_EQ(Text({"--version"}), "tool 1\n");
}

}  // namespace
}  // namespace caisson::cli
