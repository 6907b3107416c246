// Replaces mmap() for the program and all its libraries: ends a run that keeps asking for memory
// that is refused.
//
// OpenBLAS asks for ever, on each thread that multiplies and finds no space for a buffer (ADR 32).
// It would spin until the run's time is over, and the outcome would not show that memory was
// missing.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "engine/native/nursery/holder.h"

namespace {

// More attempts than any code makes that does something else in between.
constexpr int kRefusals = 1000;

thread_local int t_refused = 0;

}  // namespace

extern "C" void* mmap(void* address, std::size_t size, int protection, int flags, int fd,
                      off_t offset) noexcept {
  const long got = ::syscall(SYS_mmap, address, size, protection, flags, fd, offset);
  const bool is_refused = got == -1 && errno == ENOMEM;
  t_refused = is_refused ? t_refused + 1 : 0;
  if (t_refused == kRefusals) caisson::nursery::EndOutOfMemory();
  return reinterpret_cast<void*>(got);
}
