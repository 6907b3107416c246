#include "cli/statement.h"

#include <gtest/gtest.h>

namespace caisson::cli {
namespace {

TEST(StatementTest, WholeStatementsNeedNoMore) {
  for (const char* text : {"1 + 1\n", "x = [1, 2]\n", "print('a:')\n", "x = '''a'''\n", "# if x:\n",
                           "x = 1  # why:\n", "if x: y = 1\n", "class A: pass\n", "'unfinished\n",
                           ")\n", "\n", "f('(')\n", "x = \"\"\"a\nb\"\"\"\n", "x = (1 +\n2)\n",
                           "x = 1 + \\\n2\n", "d = {'a':\n1}\n", "'a\\'b'\n"}) {
    EXPECT_FALSE(NeedsMore(text)) << text;
  }
}

TEST(StatementTest, BracketsStringsAndBackslashesGoOn) {
  for (const char* text : {"f(1,\n", "x = [\n", "d = {'a':\n", "x = '''a\n", "x = \"\"\"'''\n",
                           "x = 1 + \\\n", "f('''\n)\n", "x = (  # )\n", "f(\n\n"}) {
    EXPECT_TRUE(NeedsMore(text)) << text;
  }
}

TEST(StatementTest, ABlockEndsWithAnEmptyLine) {
  for (const char* block : {"if x:\n", "def f():  # comment\n", "for i in (1,\n2):\n", "@cached\n",
                            "while 1:\n  pass\n", "if x:\n\n  y = 1\n", "try:\n  x = {\n}\n"}) {
    const std::string text = block;
    EXPECT_TRUE(NeedsMore(text)) << text;
    EXPECT_FALSE(NeedsMore(text + "\n")) << text;
    EXPECT_FALSE(NeedsMore(text + "  \n")) << text;
  }
}

}  // namespace
}  // namespace caisson::cli
