// The allowed differences between the engines: one table, which docs/engines.md repeats line by
// line. Everything else is the same in both, which the suites that run on both check.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

// A program returns its observation as text; `seen` converts the value or error of an expression.
constexpr const char* kSeen =
    "def seen(f):\n"
    "  try: return str(f())\n"
    "  except Exception as e: return type(e).__name__\n";

struct Difference {
  const char* what;
  const char* code;
  const char* wasm;
  const char* native;
};

constexpr Difference kDifferences[] = {
    {"`sys.platform`", "import sys\nsys.platform", "wasi", "linux"},
    {"`sys.maxsize`", "import sys\nstr(sys.maxsize)", "2147483647", "9223372036854775807"},
    {"size of a C `long`, bytes", "import struct\nstr(struct.calcsize('l'))", "4", "8"},
    {"starting a thread",
     "import threading\ngot = []\n"
     "def start():\n  t = threading.Thread(target=got.append, args=['started'])\n"
     "  t.start(); t.join(); return got[0]\nseen(start)",
     "RuntimeError", "started"},
    {"`os.fork()`, `processes` = 1", "import os\nseen(lambda: os.fork())", "OSError",
     "BlockingIOError"},
    {"`subprocess.run(['id'])`", "import subprocess\nseen(lambda: subprocess.run(['id']))",
     "OSError", "BlockingIOError"},
    {"`socket.socket()`", "import socket\nseen(lambda: socket.socket())", "OSError",
     "PermissionError"},
    {"`import ctypes`", "seen(lambda: __import__('ctypes').__name__)", "ModuleNotFoundError",
     "ctypes"},
    {"`import mmap`", "seen(lambda: __import__('mmap').__name__)", "ModuleNotFoundError", "mmap"},
    {"`import numpy`, if the system has it", "seen(lambda: __import__('numpy').__name__)",
     "ModuleNotFoundError", "numpy"},
    {"`signal.alarm(5)`", "import signal\nseen(lambda: signal.alarm(5))", "AttributeError", "0"},
    {"`os.getpid()`", "import os\nseen(lambda: os.getpid())", "42", "1"},
    {"writing below `/input` where nothing is mounted",
     "seen(lambda: open('/input/x', 'w') and 'made, and not captured')", "OSError",
     "made, and not captured"},
    {"a symbolic link in `/tmp`",
     "import os\nseen(lambda: os.symlink('/tmp/a', '/tmp/b') or 'made')", "OSError", "made"},
    {"`errno.ENOENT`, `EACCES`, `EROFS`",
     "import errno\nstr([errno.ENOENT, errno.EACCES, errno.EROFS])", "[44, 2, 69]", "[2, 13, 30]"},
    {"`open('')`", "seen(lambda: open(''))", "IsADirectoryError", "FileNotFoundError"},
    {"`os.umask`", "import os\nseen(lambda: os.umask and 'there')", "AttributeError", "there"},
    {"`os.dup2(1, 9)`", "import os\nseen(lambda: os.dup2(1, 9))", "AttributeError", "9"},
    {"`os.mkfifo('/tmp/f')`", "import os\nseen(lambda: os.mkfifo('/tmp/f'))", "AttributeError",
     "PermissionError"},
    {"`os.statvfs`, `shutil.disk_usage`",
     "import os, shutil\nseen(lambda: os.statvfs and shutil.disk_usage and 'there')",
     "AttributeError", "there"},
    {"`time.tzset`", "import time\nseen(lambda: time.tzset and 'there')", "AttributeError",
     "there"},
    {"`hashlib.scrypt`", "import hashlib\nseen(lambda: hashlib.scrypt and 'there')",
     "AttributeError", "there"},
    {"`http.client.HTTPSConnection`",
     "import http.client\nseen(lambda: http.client.HTTPSConnection and 'there')", "AttributeError",
     "there"},
};

class DifferencesTest : public OnEachEngine {};
INSTANTIATE_ON_BOTH_ENGINES(DifferencesTest);

TEST_P(DifferencesTest, AreThoseOfTheTable) {
  auto engine = StartEngine(GetParam());
  for (const Difference& one : kDifferences) {
    const Outcome outcome = RunCode(*engine, std::string(kSeen) + one.code);
    const char* expected = GetParam() == EngineKind::kWasm ? one.wasm : one.native;
    EXPECT_EQ(outcome.result, Value(std::string(expected)))
        << one.what << ": " << ResultJson(outcome);
  }
}

TEST(DifferencesTableTest, IsRepeatedInTheDocuments) {
  std::ifstream file(CAISSON_DOCS_DIR "/engines.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::ostringstream table;
  for (const Difference& one : kDifferences) {
    table << "| " << one.what << " | `" << one.wasm << "` | `" << one.native << "` |\n";
  }
  EXPECT_THAT(text, ::testing::HasSubstr(table.str()));
}

}  // namespace
}  // namespace caisson::testing
