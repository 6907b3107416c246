#include "cli/terminal_text.h"

#include <gtest/gtest.h>

namespace caisson::cli {
namespace {

std::string Whole(std::string_view bytes) {
  TerminalText text;
  std::string shown = text.Escape(bytes);
  return shown + text.Finish();
}

TEST(TerminalText, PlainTextIsShownAsItIs) {
  EXPECT_EQ(Whole("a\tb\nc ~"), "a\tb\nc ~");
  EXPECT_EQ(Whole("Grüße, 世界 🌍"), "Grüße, 世界 🌍");
}

TEST(TerminalText, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(Whole("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(Whole("over\rwritten\b\x7f"), "over\\x0dwritten\\x08\\x7f");
  EXPECT_EQ(Whole(std::string_view("\0", 1)), "\\x00");
}

TEST(TerminalText, TheEightBitControlsAreSpelledOutToo) {
  EXPECT_EQ(Whole("\xc2\x9b"
                  "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(Whole("\x9b"
                  "31m"),
            "\\x9b31m");
  EXPECT_EQ(Whole("\xc2\xa0"), "\xc2\xa0");
}

TEST(TerminalText, BytesThatAreNotUtf8AreSpelledOut) {
  EXPECT_EQ(Whole("\xff"), "\\xff");
  EXPECT_EQ(Whole("\xc3("), "\\xc3(");
  EXPECT_EQ(Whole("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");           // Overlong.
  EXPECT_EQ(Whole("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // A surrogate.
  EXPECT_EQ(Whole("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // Beyond U+10FFFF.
}

TEST(TerminalText, CharactersMayBeCutAnywhere) {
  const std::string all = "ü\x1b[世\xc2\x9b🌍\xff.";
  for (std::size_t first = 0; first <= all.size(); ++first) {
    for (std::size_t second = first; second <= all.size(); ++second) {
      TerminalText text;
      std::string shown = text.Escape(std::string_view(all).substr(0, first));
      shown += text.Escape(std::string_view(all).substr(first, second - first));
      shown += text.Escape(std::string_view(all).substr(second));
      shown += text.Finish();
      EXPECT_EQ(shown, "ü\\x1b[世\\xc2\\x9b🌍\\xff.") << first << " " << second;
    }
  }
}

TEST(TerminalText, AStreamThatEndsWithinACharacterLosesNothing) {
  EXPECT_EQ(Whole("a\xe4\xb8"), "a\\xe4\\xb8");
}

}  // namespace
}  // namespace caisson::cli
