// The strict policy on code: what it lets pass, what it refuses, and what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "guest/fake_holder.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Value Str(std::string_view text) {
  return Value(std::string(text));
}

Value Strs(std::initializer_list<const char*> texts) {
  List list;
  for (const char* text : texts) list.items.push_back(Str(text));
  return list;
}

struct Found {
  std::string rule{};
  std::string message{};
  std::string hint{};
  std::int64_t line = 0;
  std::int64_t column = 0;
};

std::vector<Found> Findings(const Held& held) {
  std::vector<Found> all;
  const Value* findings = held.Field("findings");
  if (findings == nullptr) return all;
  for (const Value& item : findings->If<List>()->items) {
    const Dict& one = *item.If<Dict>();
    all.push_back({.rule = *one.Find("rule")->If<std::string>(),
                   .message = *one.Find("message")->If<std::string>(),
                   .hint = *one.Find("hint")->If<std::string>(),
                   .line = *one.Find("line")->If<std::int64_t>(),
                   .column = *one.Find("column")->If<std::int64_t>()});
  }
  return all;
}

// "end" and one line "line:column rule: message" for each finding.
std::string Summary(const Held& held) {
  std::string out = held.End();
  for (const Found& found : Findings(held)) {
    out += "\n" + std::to_string(found.line) + ":" + std::to_string(found.column) + " " +
           found.rule + ": " + found.message;
  }
  return out;
}

HolderOptions With(Value policy) {
  return {.more = Dict{{{Str("policy"), std::move(policy)}}}};
}

HolderOptions Strict() {
  return With(std::int64_t{1});
}

Held Check(const std::string& code, HolderOptions options = Strict()) {
  options.more.items.emplace_back(Str("check"), true);
  return Hold(code, options);
}

// Several checks in one cell: far quicker than one each.
std::vector<std::string> CheckAll(const std::vector<std::string>& codes,
                                  HolderOptions options = Strict()) {
  options.more.items.emplace_back(Str("check"), true);
  const Held held = Hold(codes, options);
  std::vector<std::string> summaries;
  for (const Dict& report : held.reports) {
    Held one;
    one.reports = {report};
    summaries.push_back(Summary(one));
  }
  return summaries;
}

void ExpectAllowed(const std::vector<std::string>& codes, const HolderOptions& options = Strict()) {
  const std::vector<std::string> summaries = CheckAll(codes, options);
  ASSERT_EQ(summaries.size(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(summaries[i], "checked") << codes[i];
}

void ExpectRefused(const std::vector<std::string>& codes, const HolderOptions& options = Strict()) {
  const std::vector<std::string> summaries = CheckAll(codes, options);
  ASSERT_EQ(summaries.size(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    EXPECT_THAT(summaries[i], testing::StartsWith("checked\n")) << codes[i];
    EXPECT_THAT(summaries[i], Not(HasSubstr(" syntax: "))) << codes[i];
  }
}

// The reference's own cases, by the names it gives them.

TEST(PolicyReference, AllowsBasicPrograms) {
  ExpectAllowed({
      "x = 1 + 2\nx * 3",                                                  // basic_arithmetic
      "result = await compute(a=1, b=2)\nresult",                          // tool_calls
      "call_tool('compute', a=1)\nawait call_tool('compute', {'a': 1})",   // call_tool_fallback
      "import asyncio\nawait asyncio.gather(compute(a=1), compute(a=2))",  // asyncio_gather
      "from pathlib import Path\np = Path('/output/x')\np.write_text('a')\n"  // pathlib_file_operations
      "p.read_text()\np.open().read()\nlist(Path('/input').glob('*.csv'))",
      "print('hello', 1, sep=',')",                                  // print
      "import json\njson.loads(json.dumps({'a': [1]}))",             // json_operations
      "[x for x in range(3) if x]\n{k: v for k, v in {}.items()}\n"  // comprehensions
      "{x for x in ()}\nsum(x * y for x in range(3) for y in range(x))",
      "for i in range(3):\n  if i: continue\n  else: break\nelse: pass\n"  // control_flow
      "while True: break\ntry: 1/0\nexcept ZeroDivisionError as e: print(e)\nfinally: pass",
      "import os\nos.environ.get('HOME')\nos.environ['A']",           // os_environ
      "import os\nos.path.join('a', 'b')\nos.path.exists('/input')",  // os_path
      "def helper(x): return x\nhelper(1)",                           // user_defined_function_call
      "from os import path, environ",  // from_os_import_allowed_names
      "from os.path import join\njoin('a', 'b')",
  });
}

TEST(PolicyReference, RefusesBuiltins) {
  for (const char* name : {"eval", "exec", "compile", "globals", "locals", "__import__", "aiter",
                           "vars", "dir", "input", "help", "breakpoint", "exit", "quit"}) {
    EXPECT_EQ(Summary(Check(std::string(name) + "('x')")),
              "checked\n1:1 builtin: the builtin " + std::string(name) + " is not allowed");
  }
}

TEST(PolicyReference, RefusesImports) {
  for (const char* name :
       {"subprocess", "sys", "socket", "urllib", "http", "ftplib", "smtplib", "telnetlib",
        "multiprocessing", "threading", "ctypes", "shutil", "tempfile", "importlib", "builtins"}) {
    const std::string module = name;
    EXPECT_EQ(Summary(Check("import " + module)),
              "checked\n1:8 import: the module " + module + " is not allowed");
    EXPECT_EQ(Summary(Check("from " + module + ".x import y")),
              "checked\n1:" + std::to_string(module.size() + 16) + " import: the module " + module +
                  ".x is not allowed");
  }
  EXPECT_EQ(Summary(Check("import requests")), "checked\n1:8 import: requests is not installed");
  EXPECT_EQ(Summary(Check("import no_such")), "checked\n1:8 import: no_such is not installed");
  EXPECT_EQ(Summary(Check("from . import x")),
            "checked\n1:1 import: relative imports are not allowed");
}

TEST(PolicyReference, RefusesOtherOsMembers) {
  for (const char* name : {"system", "execv", "popen", "listdir", "open", "getcwd", "remove"}) {
    const std::string member = name;
    EXPECT_EQ(Summary(Check("import os\nos." + member + "('x')")),
              "checked\n2:1 attribute: os." + member + " is not allowed");
  }
  EXPECT_EQ(Summary(Check("from os import system")),
            "checked\n1:16 attribute: os.system is not allowed");
  // from_os_import_mixed: only the bad name is reported.
  EXPECT_EQ(Summary(Check("from os import path, getcwd, environ")),
            "checked\n1:22 attribute: os.getcwd is not allowed");
}

Value Lists(std::initializer_list<std::pair<const char*, Value>> lists) {
  Dict dict;
  for (const auto& [key, value] : lists) dict.items.emplace_back(Str(key), value);
  return dict;
}

TEST(PolicyLists, CanBeReplaced) {
  const HolderOptions wider = With(Lists({{"os_attributes", Strs({"getcwd"})},
                                          {"builtins", Strs({"vars", "print"})},
                                          {"imports", Strs({"sys", "os"})}}));
  ExpectAllowed({"import os\nos.getcwd()", "from os import getcwd", "print(vars())", "import sys"},
                wider);
  ExpectRefused({"import os\nos.path", "from os import path", "import os.path as p", "len([])",
                 "import json", "from sys import path"},
                With(Lists({{"os_attributes", Strs({"getcwd"})},
                            {"builtins", Strs({"vars", "print"})},
                            {"imports", Strs({"os"})}})));
}

TEST(PolicyLists, CanBeExtended) {
  const HolderOptions options = With(Lists({{"allow_imports", Strs({"sys", "threading"})},
                                            {"block_imports", Strs({"json", "xml.sax"})},
                                            {"allow_builtins", Strs({"dir"})},
                                            {"block_builtins", Strs({"print"})},
                                            {"allow_attributes", Strs({"__mro__", "obj"})},
                                            {"block_attributes", Strs({"secret"})}}));
  ExpectAllowed({"import sys, math\nsys.argv", "dir()", "int.__mro__\nx = []\nx.obj",
                 "import xml.dom.minidom"},
                options);
  ExpectRefused(
      {"import json", "import xml.sax", "from xml import sax", "print(1)", "x = 1\nx.secret"},
      options);
}

TEST(PolicyLists, ANameInBothIsBlocked) {
  const HolderOptions options = With(Lists({{"imports", Strs({"json"})},
                                            {"allow_imports", Strs({"json"})},
                                            {"block_imports", Strs({"json"})},
                                            {"allow_builtins", Strs({"eval"})},
                                            {"block_builtins", Strs({"eval"})}}));
  ExpectRefused({"import json", "eval('1')"}, options);
}

TEST(PolicyLists, MembersAreAllowedByTheirFullName) {
  ExpectRefused({"import asyncio\nasyncio.create_subprocess_exec"});
  ExpectAllowed({"import asyncio\nasyncio.create_subprocess_exec"},
                With(Lists({{"allow_imports", Strs({"asyncio.create_subprocess_exec"})}})));
}

// Programs kept as files, below tests/policy.

std::vector<std::filesystem::path> Files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path root(CAISSON_POLICY_PROGRAMS);
  for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Read(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file).rdbuf();
  return content.str();
}

// One program a line; "\\n" in it is the end of a line.
std::vector<std::string> Programs(const std::filesystem::path& file) {
  std::vector<std::string> programs;
  std::istringstream lines(Read(file));
  for (std::string line; std::getline(lines, line);) {
    for (std::size_t at; (at = line.find("\\n")) != std::string::npos;) line.replace(at, 2, "\n");
    programs.push_back(line);
  }
  return programs;
}

TEST(PolicyFiles, AllowedProgramsPass) {
  for (const auto& file : Files("allowed")) ExpectAllowed(Programs(file));
}

TEST(PolicyFiles, HonestProgramsPass) {
  std::vector<std::string> programs;
  for (const auto& file : Files("honest")) programs.push_back(Read(file));
  EXPECT_GE(programs.size(), 40U);
  ExpectAllowed(programs);
}

TEST(PolicyFiles, RefusedProgramsAreRefused) {
  for (const auto& file : Files("refused")) ExpectRefused(Programs(file));
}

}  // namespace
}  // namespace caisson
