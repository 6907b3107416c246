// The functions that give memory, for the program and every library in it: each notes when there is
// none.
#include "engine/native/forkserver/refused_memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "engine/native/forkserver/holder.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAISSON_OTHER_ALLOCATOR
#endif
#endif

namespace caisson::forkserver {
namespace {

std::atomic<bool> g_refused = false;

// Too little for most of what a library asks the kernel for.
constexpr std::size_t kLittle = 256 << 10;
// More than anyone tries who does something else in between.
constexpr int kRefusals = 1000;
thread_local int t_refused = 0;

long Map(std::size_t size) {
  return ::syscall(SYS_mmap, nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void* Noted(void* memory) {
  if (memory == nullptr) g_refused.store(true, std::memory_order_relaxed);
  return memory;
}

// What the loader said last on this thread, kept for dlerror().
thread_local std::array<char, 1024> t_loader_error;
thread_local bool t_has_loader_error = false;

template <typename F>
F* Next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

// Found before the loader fails: looking it up would make the loader forget its error.
char* RealLoaderError() {
  static auto* const real = Next<char*()>("dlerror");
  return real();
}

}  // namespace

void ForgetRefusedMemory() {
  g_refused.store(false, std::memory_order_relaxed);
}

bool WasMemoryRefused() {
  return g_refused.load(std::memory_order_relaxed);
}

bool IsMemoryShort() {
  if (WasMemoryRefused()) return true;
  const long got = Map(kLittle);
  if (got == -1) return errno == ENOMEM;
  ::syscall(SYS_munmap, got, kLittle);
  return false;
}

}  // namespace caisson::forkserver

using namespace caisson::forkserver;  // NOLINT(google-build-using-namespace): what follows is C.

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the C library's names.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreserved-identifier"
extern "C" {

// OpenBLAS asks for ever, on each thread that multiplies and finds no room for a buffer (ADR 32).
// It would spin until the run's time is over, which tells nobody what it was short of: so a run
// that asks again and again and gets none ends.
void* mmap(void* address, std::size_t size, int protection, int flags, int fd,
           off_t offset) noexcept {
  const long got = ::syscall(SYS_mmap, address, size, protection, flags, fd, offset);
  const bool is_refused = got == -1 && errno == ENOMEM;
  t_refused = is_refused ? t_refused + 1 : 0;
  if (is_refused) Noted(nullptr);
  if (t_refused == kRefusals) EndOutOfMemory();
  return reinterpret_cast<void*>(got);
}

void* mmap64(void* address, std::size_t size, int protection, int flags, int fd,
             off64_t offset) noexcept {
  return mmap(address, size, protection, flags, fd, offset);
}

// The loader maps libraries by itself; its message tells why it could not.
void* dlopen(const char* path, int mode) noexcept {
  static auto* const real = Next<void*(const char*, int)>("dlopen");
  t_has_loader_error = false;
  static_cast<void>(RealLoaderError());
  void* const library = real(path, mode);
  if (library != nullptr) return library;
  const char* const error = RealLoaderError();
  if (error == nullptr) return nullptr;
  const std::string_view text = std::string_view(error).substr(0, t_loader_error.size() - 1);
  std::ranges::copy(text, t_loader_error.begin());
  t_loader_error[text.size()] = '\0';
  t_has_loader_error = true;
  if (text.contains("annot allocate memory") || text.contains("failed to map segment")) {
    Noted(nullptr);
  }
  return nullptr;
}
char* dlerror() noexcept {
  if (!t_has_loader_error) return RealLoaderError();
  t_has_loader_error = false;
  return t_loader_error.data();
}

#ifndef CAISSON_OTHER_ALLOCATOR

// Stacks of threads are mapped by the C library itself.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  static auto* const real =
      Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  const int failed = real(thread, attributes, start, argument);
  if (failed != EAGAIN) return failed;
  constexpr std::size_t kStack = 8 << 20;
  std::size_t stack = kStack;
  if (attributes != nullptr) ::pthread_attr_getstacksize(attributes, &stack);
  if (const long room = Map(stack); room == -1) {
    Noted(nullptr);
  } else {
    ::syscall(SYS_munmap, room, stack);
  }
  return failed;
}

// glibc lets a program replace these, and exports its own under other names.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
  return Noted(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return Noted(__libc_calloc(count, size));
}
void* realloc(void* memory, std::size_t size) noexcept {
  void* const moved = __libc_realloc(memory, size);
  return size == 0 ? moved : Noted(moved);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return Noted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return Noted(__libc_memalign(alignment, size));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || !std::has_single_bit(alignment)) return EINVAL;
  void* const got = Noted(__libc_memalign(alignment, size));
  if (got == nullptr) return ENOMEM;
  *memory = got;
  return 0;
}

#endif
}  // extern "C"
#pragma clang diagnostic pop
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
