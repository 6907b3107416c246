#include "guest/native/forked.h"

#include "guest/run/boot.h"

// Made by tools/guest/freeze.py from python/caisson.
extern const struct _frozen caisson_frozen[];

static PyMemAllocatorEx raw;
static volatile int32_t memory_refused;

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

// All allocations of the interpreter end up here, including objects: without space for a new arena
// they are allocated one by one.
static void WatchMemory(void) {
  PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
  PyMemAllocatorEx watched = {NULL, Malloc, Calloc, Realloc, Free};
  PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &watched);
}

int32_t caisson_memory_refused(void) {
  int32_t refused = memory_refused;
  memory_refused = 0;
  return refused;
}

// As TakeFreshPools of guest/run/forever.h does in a snapshot: a cell's first objects are allocated
// together, instead of in the gaps that imports have left, so fewer pages are copied. Pools have 16
// KiB in 64-bit builds, and the first word of a pool counts its blocks in use.
enum { kPoolBytes = 16384, kBlockStep = 16, kLargestBlock = 512, kMostBlocks = 1 << 14 };

static void LeaveRoom(void) {
  for (size_t size = kBlockStep; size <= kLargestBlock; size += kBlockStep) {
    for (int i = 0; i < kMostBlocks; i++) {
      const char* block = PyObject_Malloc(size);  // Never freed, on purpose.
      if (block == NULL ||
          *(const uint32_t*)((uintptr_t)block & ~(uintptr_t)(kPoolBytes - 1)) == 1) {
        break;
      }
    }
  }
}

// Functions without arguments that seed each random generator. Not `random.seed` itself: a few
// lines of Python touch a third of all the pages that a cell has to copy.
static PyObject* seeds[2];

// Also drops random values that imports have drawn for later.
static int ForgetWhatWasDrawn(void) {
  PyObject* prepare = PyImport_ImportModule("caisson.prepare");
  PyObject* done = prepare == NULL ? NULL : PyObject_CallMethod(prepare, "reseed", NULL);
  Py_XDECREF(prepare);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
}

// The C method that random's own generator inherits, bound to it.
static PyObject* RandomsSeed(void) {
  PyObject* random = PyImport_ImportModule("random");
  PyObject* generator = random == NULL ? NULL : PyObject_GetAttrString(random, "_inst");
  PyObject* base = PyImport_ImportModule("_random");
  PyObject* type = base == NULL ? NULL : PyObject_GetAttrString(base, "Random");
  PyObject* method = type == NULL ? NULL : PyObject_GetAttrString(type, "seed");
  PyObject* bound = NULL;
  if (generator != NULL && method != NULL) {
    bound = Py_TYPE(method)->tp_descr_get(method, generator, type);
  }
  Py_XDECREF(method);
  Py_XDECREF(type);
  Py_XDECREF(base);
  Py_XDECREF(generator);
  Py_XDECREF(random);
  return bound;
}

static int FindSeeds(void) {
  if (ForgetWhatWasDrawn() < 0) return -1;
  seeds[0] = RandomsSeed();
  if (seeds[0] == NULL) return -1;
  PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy.random");
  if (numpy == NULL) return 0;
  seeds[1] = PyObject_GetAttrString(numpy, "seed");
  return seeds[1] == NULL ? -1 : 0;
}

int32_t caisson_boot_native(const char* module_path, const char* preload) {
  PyImport_FrozenModules = caisson_frozen;
  WatchMemory();
  const BootPlan plan = {.module_path = module_path, .preload = preload, .forks = 1};
  int32_t failed = Boot(&plan);
  if (failed) return failed;
  if (FindSeeds() < 0) {
    PyErr_Print();
    return 5;
  }
  LeaveRoom();
  return 0;
}

void caisson_touch_pools(void) {
  for (size_t size = kBlockStep; size <= kLargestBlock; size += kBlockStep) {
    PyObject_Free(PyObject_Malloc(size));
  }
}

int32_t caisson_reseed(void) {
  for (size_t i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
    PyObject* done = seeds[i] == NULL ? Py_NewRef(Py_None) : PyObject_CallNoArgs(seeds[i]);
    if (done == NULL) {
      PyErr_Print();
      return -1;
    }
    Py_DECREF(done);
  }
  return 0;
}
