/* SQLite's file layer (VFS) over WASI, built with SQLITE_OS_OTHER.
 *
 * One cell is one thread and nobody else sees its files, so only the connections of this cell are kept apart, by a list
 * of open files. There is no shared memory and no mapping, hence no write-ahead log; the rollback journal works as
 * usual. */
#include "sqlite3.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kMaxPath = 1024, kSectorBytes = 512 };

typedef struct GuestFile {
  sqlite3_file base;
  struct GuestFile* next; /* in open_files */
  int fd;
  int lock;
  int delete_on_close;
  char path[kMaxPath];
} GuestFile;

static GuestFile* open_files;

/* The strongest lock any other connection of this cell holds on the same file. */
static int OthersLock(const GuestFile* file) {
  int strongest = SQLITE_LOCK_NONE;
  for (const GuestFile* other = open_files; other != NULL; other = other->next)
    if (other != file && other->lock > strongest && strcmp(other->path, file->path) == 0) strongest = other->lock;
  return strongest;
}

static int Close(sqlite3_file* f) {
  GuestFile* file = (GuestFile*)f;
  for (GuestFile** link = &open_files; *link != NULL; link = &(*link)->next)
    if (*link == file) {
      *link = file->next;
      break;
    }
  close(file->fd);
  if (file->delete_on_close) unlink(file->path);
  return SQLITE_OK;
}

static int Read(sqlite3_file* f, void* to, int amount, sqlite3_int64 offset) {
  int done = 0;
  while (done < amount) {
    ssize_t n = pread(((GuestFile*)f)->fd, (char*)to + done, (size_t)(amount - done), offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SQLITE_IOERR_READ;
    if (n == 0) break;
    done += (int)n;
  }
  if (done == amount) return SQLITE_OK;
  memset((char*)to + done, 0, (size_t)(amount - done)); /* SQLite relies on zeros past the end */
  return SQLITE_IOERR_SHORT_READ;
}

static int Write(sqlite3_file* f, const void* from, int amount, sqlite3_int64 offset) {
  int done = 0;
  while (done < amount) {
    ssize_t n = pwrite(((GuestFile*)f)->fd, (const char*)from + done, (size_t)(amount - done), offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 && errno != ENOSPC && errno != EDQUOT ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    done += (int)n;
  }
  return SQLITE_OK;
}

static int Truncate(sqlite3_file* f, sqlite3_int64 size) {
  return ftruncate(((GuestFile*)f)->fd, size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

/* A cell's files live in memory and end with the run: there is no later crash to survive. */
static int Sync(sqlite3_file* f, int flags) {
  (void)f, (void)flags;
  return SQLITE_OK;
}

static int FileSize(sqlite3_file* f, sqlite3_int64* size) {
  struct stat st;
  if (fstat(((GuestFile*)f)->fd, &st) != 0) return SQLITE_IOERR_FSTAT;
  *size = st.st_size;
  return SQLITE_OK;
}

/* SQLite's five levels: readers share; one writer may reserve beside them; pending keeps new readers out; exclusive waits
 * until the old ones are gone. Nobody waits here: SQLITE_BUSY goes to the busy handler. */
static int Lock(sqlite3_file* f, int level) {
  GuestFile* file = (GuestFile*)f;
  int others = OthersLock(file);
  if (level <= file->lock) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED && others >= SQLITE_LOCK_PENDING) return SQLITE_BUSY;
  if (level > SQLITE_LOCK_SHARED && others >= SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
  if (level == SQLITE_LOCK_EXCLUSIVE && others >= SQLITE_LOCK_SHARED) {
    file->lock = SQLITE_LOCK_PENDING;
    return SQLITE_BUSY;
  }
  file->lock = level;
  return SQLITE_OK;
}

static int Unlock(sqlite3_file* f, int level) {
  GuestFile* file = (GuestFile*)f;
  if (level < file->lock) file->lock = level;
  return SQLITE_OK;
}

/* Without this a reader would take another connection's journal for one left by a crash, and roll it back. */
static int CheckReservedLock(sqlite3_file* f, int* reserved) {
  GuestFile* file = (GuestFile*)f;
  *reserved = file->lock >= SQLITE_LOCK_RESERVED || OthersLock(file) >= SQLITE_LOCK_RESERVED;
  return SQLITE_OK;
}

static int FileControl(sqlite3_file* f, int op, void* arg) {
  if (op == SQLITE_FCNTL_LOCKSTATE) {
    *(int*)arg = ((GuestFile*)f)->lock;
    return SQLITE_OK;
  }
  return SQLITE_NOTFOUND;
}

static int SectorSize(sqlite3_file* f) {
  (void)f;
  return kSectorBytes;
}

static int DeviceCharacteristics(sqlite3_file* f) {
  (void)f;
  return SQLITE_IOCAP_SAFE_APPEND | SQLITE_IOCAP_SEQUENTIAL | SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods kMethods = {
    .iVersion = 1,
    .xClose = Close,
    .xRead = Read,
    .xWrite = Write,
    .xTruncate = Truncate,
    .xSync = Sync,
    .xFileSize = FileSize,
    .xLock = Lock,
    .xUnlock = Unlock,
    .xCheckReservedLock = CheckReservedLock,
    .xFileControl = FileControl,
    .xSectorSize = SectorSize,
    .xDeviceCharacteristics = DeviceCharacteristics,
};

static int FullPathname(sqlite3_vfs* vfs, const char* path, int capacity, char* out) {
  char directory[kMaxPath] = "";
  (void)vfs;
  if (path[0] != '/' && getcwd(directory, sizeof directory) == NULL) return SQLITE_CANTOPEN;
  size_t length = strlen(directory);
  const char* slash = path[0] == '/' || (length > 0 && directory[length - 1] == '/') ? "" : "/";
  if (length + strlen(path) + 2 > (size_t)capacity) return SQLITE_CANTOPEN;
  sqlite3_snprintf(capacity, out, "%s%s%s", directory, slash, path);
  return SQLITE_OK;
}

static int Random(sqlite3_vfs* vfs, int amount, char* out) {
  (void)vfs;
  for (int done = 0; done < amount; done += 256)
    if (getentropy(out + done, (size_t)(amount - done < 256 ? amount - done : 256)) != 0) return done;
  return amount;
}

static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* f, int flags, int* out_flags) {
  GuestFile* file = (GuestFile*)f;
  memset(file, 0, sizeof *file);
  if (name == NULL) { /* a temporary file of SQLite's own */
    unsigned char random[8];
    if (Random(vfs, sizeof random, (char*)random) != sizeof random) return SQLITE_CANTOPEN;
    uint64_t number;
    memcpy(&number, random, sizeof number);
    sqlite3_snprintf(kMaxPath, file->path, "/tmp/etilqs_%llx", (unsigned long long)number);
  } else {
    if (strlen(name) >= kMaxPath) return SQLITE_CANTOPEN;
    strcpy(file->path, name);
  }
  int mode = flags & SQLITE_OPEN_READWRITE ? O_RDWR : O_RDONLY;
  if (flags & SQLITE_OPEN_CREATE) mode |= O_CREAT;
  if (flags & SQLITE_OPEN_EXCLUSIVE) mode |= O_EXCL;
  file->fd = open(file->path, mode, 0600);
  if (file->fd < 0 && (mode & O_RDWR) && errno != ENOENT && errno != EISDIR) { /* a read-only mount */
    mode = O_RDONLY;
    flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
    file->fd = open(file->path, mode);
  }
  if (file->fd < 0) return SQLITE_CANTOPEN;
  file->delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
  if (out_flags != NULL) *out_flags = flags;
  file->base.pMethods = &kMethods;
  file->next = open_files;
  open_files = file;
  return SQLITE_OK;
}

static int Delete(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  (void)vfs, (void)sync_directory;
  if (unlink(path) == 0) return SQLITE_OK;
  return errno == ENOENT ? SQLITE_IOERR_DELETE_NOENT : SQLITE_IOERR_DELETE;
}

static int Access(sqlite3_vfs* vfs, const char* path, int flags, int* result) {
  struct stat st;
  (void)vfs;
  *result = stat(path, &st) == 0;
  /* As SQLite's own layer does: an empty journal is no journal. */
  if (*result && flags == SQLITE_ACCESS_EXISTS) *result = st.st_size > 0 || !S_ISREG(st.st_mode);
  return SQLITE_OK;
}

static int Sleep(sqlite3_vfs* vfs, int microseconds) {
  (void)vfs;
  usleep((useconds_t)microseconds);
  return microseconds;
}

static int CurrentTimeInt64(sqlite3_vfs* vfs, sqlite3_int64* milliseconds) {
  struct timespec now;
  (void)vfs;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return SQLITE_ERROR;
  /* 210866760000000 ms: from the Julian epoch to 1970. */
  *milliseconds = (sqlite3_int64)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 210866760000000LL;
  return SQLITE_OK;
}

static int CurrentTime(sqlite3_vfs* vfs, double* days) {
  sqlite3_int64 milliseconds = 0;
  int status = CurrentTimeInt64(vfs, &milliseconds);
  *days = (double)milliseconds / 86400000.0;
  return status;
}

static int GetLastError(sqlite3_vfs* vfs, int capacity, char* out) {
  (void)vfs, (void)capacity, (void)out;
  return errno;
}

int sqlite3_os_init(void) {
  static sqlite3_vfs vfs = {
      .iVersion = 2,
      .szOsFile = sizeof(GuestFile),
      .mxPathname = kMaxPath - 1,
      .zName = "guest",
      .xOpen = Open,
      .xDelete = Delete,
      .xAccess = Access,
      .xFullPathname = FullPathname,
      .xRandomness = Random,
      .xSleep = Sleep,
      .xCurrentTime = CurrentTime,
      .xGetLastError = GetLastError,
      .xCurrentTimeInt64 = CurrentTimeInt64,
  };
  return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void) { return SQLITE_OK; }
