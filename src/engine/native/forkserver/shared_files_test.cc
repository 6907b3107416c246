// Cells share the library's files: other cells do not see what one of them does with those.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/uio.h>

#include <cstring>

#include "engine/native/forkserver/testing/fork_server_fixture.h"

namespace caisson::forkserver {
namespace {

class SharedFilesTest : public ForkServerTest {};
INSTANTIATE_TEST_SUITE_P(Tiers, SharedFilesTest,
                         testing::Values(kNamespace, kInSlot, kLandlock, kForeign,
                                         kForeignLandlock),
                         NameOf);
class OwnFilesTest : public ForkServerTest {};
INSTANTIATE_TEST_SUITE_P(Tiers, OwnFilesTest, testing::Values(kNamespace, kInSlot, kForeign),
                         NameOf);

// All cells share library files: the content of the page cache reveals which ones another cell has
// read.
TEST_P(SharedFilesTest, NoCallTellsOrChangesWhatIsInThePageCache) {
  const std::string prelude =
      "import ctypes, errno, json, mmap, os\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "file = open(json.__file__, 'rb')\n"
      "size = os.fstat(file.fileno()).st_size\n"
      "mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE)\n"
      "libc.mmap.restype = ctypes.c_void_p\n"
      "at = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file.fileno(), "
      "ctypes.c_long(0)))\n"
      "def failed(result): return errno.errorcode[ctypes.get_errno()] if result < 0 else 'done'\n";
  EXPECT_EQ(Run(prelude +
                "failed(libc.mincore(at, ctypes.c_size_t(4096), ctypes.create_string_buffer(1)))"),
            "\"ENOSYS\"");
  EXPECT_EQ(Run(prelude + "failed(libc.syscall(451, file.fileno(), ctypes.create_string_buffer(16),"
                          " ctypes.create_string_buffer(40), 0))"),
            "\"ENOSYS\"");
  for (const char* advice : {"20", "21", "12"}) {  // MADV_COLD, MADV_PAGEOUT, MADV_MERGEABLE
    EXPECT_EQ(Run(prelude + "failed(libc.madvise(at, ctypes.c_size_t(4096), " + advice + "))"),
              "\"EINVAL\"")
        << advice;
  }
  EXPECT_EQ(Run(prelude + "failed(libc.madvise(at, ctypes.c_size_t(4096), 3))"), "\"done\"");
  EXPECT_THAT(Run(prelude + "os.preadv(file.fileno(), [bytearray(9)], 0, os.RWF_NOWAIT)"),
              HasSubstr("Operation not supported"));
  EXPECT_EQ(Run(prelude + "os.preadv(file.fileno(), [bytearray(9)], 0)"), "9");
  EXPECT_EQ(Run(prelude + "os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)"), "-");
}

// posix_fadvise succeeds, and the file stays in the cache for the others.
TEST_P(SharedFilesTest, ACellDoesNotTakeAFileOutOfThePageCache) {
  const std::string path = Run("import json; json.__file__");
  const std::string file = path.substr(1, path.size() - 2);
  EXPECT_EQ(ReadText(file).empty(), false);
  Run("import json, os\nfile = open(json.__file__, 'rb'); file.read()\n"
      "os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)");
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  char byte = 0;
  const iovec part{.iov_base = &byte, .iov_len = 1};
  EXPECT_EQ(::preadv2(fd.get(), &part, 1, 0, RWF_NOWAIT), 1) << std::strerror(errno);
}

TEST_P(SharedFilesTest, ALockOnALibraryFileIsSeenByNobody) {
  const std::string library = "import errno, fcntl, json, os, struct\nfile = open(json.__file__)\n";
  DrivenCell first = fork_server().Make();
  ASSERT_TRUE(first.prepared) << first.failed;
  EXPECT_EQ(
      first
          .Run(library + "fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)\n"
                         "def failed(*call):\n"
                         "  try: fcntl.fcntl(*call) if len(call) > 2 else fcntl.flock(*call)\n"
                         "  except OSError as e: return errno.errorcode[e.errno]\n"
                         "shared = struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 0, 0)\n"
                         "[failed(file, fcntl.LOCK_SH), failed(file, 37, shared)]",
               {.flags = wire::kKeepCell})
          .Result(),
      "[\"ENOSYS\",\"EPERM\"]");
  // The first cell is still alive and holds its locks.
  const std::string path = Run("import json; json.__file__");
  const UniqueFd fd(::open(path.substr(1, path.size() - 2).c_str(), O_RDONLY | O_CLOEXEC));
  struct flock held{.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
  ASSERT_EQ(::fcntl(fd.get(), F_GETLK, &held), 0);
  EXPECT_EQ(held.l_type, F_UNLCK);
  EXPECT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0);
}

TEST_P(OwnFilesTest, SqliteWorksOnFilesOfTheCell) {
  for (const char* path : {"/tmp/a.db", "/output/a.db"}) {
    EXPECT_EQ(Run("import sqlite3\nfor i in range(3):\n"
                  "  with sqlite3.connect('" +
                  std::string(path) +
                  "') as db:\n"
                  "    db.execute('create table if not exists t(x)')\n"
                  "    db.execute('insert into t values (?)', (i,))\n"
                  "db.execute('select sum(x) from t').fetchone()[0]"),
              "3")
        << path;
  }
}

}  // namespace
}  // namespace caisson::forkserver
