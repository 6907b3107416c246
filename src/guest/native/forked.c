#include "guest/native/forked.h"

#include "guest/boot.h"
#include "guest/report.h"

// Made by tools/guest/freeze.py out of python/caisson.
extern const struct _frozen caisson_frozen[];

static PyMemAllocatorEx raw;
static volatile int32_t memory_refused;
static PyObject* reseed;

static void* Noted(void* memory) {
  if (memory == NULL) memory_refused = 1;
  return memory;
}
static void* Malloc(void* Py_UNUSED(context), size_t size) {
  return Noted(raw.malloc(raw.ctx, size));
}
static void* Calloc(void* Py_UNUSED(context), size_t count, size_t size) {
  return Noted(raw.calloc(raw.ctx, count, size));
}
static void* Realloc(void* Py_UNUSED(context), void* memory, size_t size) {
  return Noted(raw.realloc(raw.ctx, memory, size));
}
static void Free(void* Py_UNUSED(context), void* memory) {
  raw.free(raw.ctx, memory);
}

// Everything the interpreter allocates comes from here in the end, objects too: when there is no
// room for a new arena they are asked for one by one.
static void WatchMemory(void) {
  PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
  PyMemAllocatorEx watched = {NULL, Malloc, Calloc, Realloc, Free};
  PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &watched);
}

int32_t caisson_memory_refused(void) {
  int32_t refused = memory_refused || reported_foreign_memory_error;
  memory_refused = 0;
  reported_foreign_memory_error = 0;
  return refused;
}

int32_t caisson_boot_native(const char* module_path, const char* preload) {
  PyImport_FrozenModules = caisson_frozen;
  WatchMemory();
  const BootPlan plan = {.module_path = module_path, .preload = preload, .forks = 1};
  int32_t failed = Boot(&plan);
  if (failed) return failed;
  PyObject* prepare = PyImport_ImportModule("caisson.prepare");
  reseed = prepare == NULL ? NULL : PyObject_GetAttrString(prepare, "reseed");
  Py_XDECREF(prepare);
  return reseed == NULL ? 4 : 0;
}

void caisson_reseed(void) {
  Py_XDECREF(PyObject_CallNoArgs(reseed));
  PyErr_Clear();
}

