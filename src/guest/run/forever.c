#include "guest/run/forever.h"

#include "guest/python.h"
//
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>

// As in tools/guest/adapt_sources.py.
enum { kForever = 1 << 28 };

// Objects that were reached and not examined yet.
typedef struct Pending {
  PyObject** objects;
  size_t count;
  size_t capacity;
} Pending;

static int Keep(PyObject* object, void* context) {
  Pending* pending = context;
  if (object == NULL || Py_REFCNT(object) >= kForever) return 0;
  if (pending->count == pending->capacity) {
    size_t capacity = pending->capacity == 0 ? 1024 : pending->capacity * 2;
    PyObject** objects = PyMem_RawRealloc(pending->objects, capacity * sizeof *objects);
    if (objects == NULL) return -1;
    pending->objects = objects;
    pending->capacity = capacity;
  }
  Py_SET_REFCNT(object, kForever);
  pending->objects[pending->count++] = object;
  return 0;
}

static int KeepAll(PyObject* const* objects, size_t count, Pending* pending) {
  for (size_t i = 0; i < count; i++) {
    if (Keep(objects[i], pending) < 0) return -1;
  }
  return 0;
}

// The collector does not look at keys: strings cannot be part of cycles.
static int KeepOfDict(PyObject* dict, Pending* pending) {
  PyObject* key;
  PyObject* value;
  for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, &value);) {
    if (Keep(key, pending) < 0 || Keep(value, pending) < 0) return -1;
  }
  return 0;
}

static int KeepOfType(PyTypeObject* type, Pending* pending) {
  PyObject* const parts[] = {type->tp_dict,  type->tp_bases,      type->tp_mro,
                             type->tp_cache, type->tp_subclasses, (PyObject*)type->tp_base};
  if (KeepAll(parts, sizeof parts / sizeof parts[0], pending) < 0) return -1;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return 0;
  PyHeapTypeObject* heap = (PyHeapTypeObject*)type;
  PyObject* const more[] = {heap->ht_name, heap->ht_qualname, heap->ht_slots, heap->ht_module};
  return KeepAll(more, sizeof more / sizeof more[0], pending);
}

static int KeepOfCode(PyCodeObject* code, Pending* pending) {
  PyObject* const parts[] = {
      code->co_consts,         code->co_names,    code->co_exceptiontable, code->co_filename,
      code->co_name,           code->co_qualname, code->co_linetable,      code->co_localsplusnames,
      code->co_localspluskinds};
  return KeepAll(parts, sizeof parts / sizeof parts[0], pending);
}

static int KeepOf(PyObject* object, Pending* pending) {
  if (Keep((PyObject*)Py_TYPE(object), pending) < 0) return -1;
  if (PyType_Check(object)) return KeepOfType((PyTypeObject*)object, pending);
  if (PyCode_Check(object)) return KeepOfCode((PyCodeObject*)object, pending);
  if (PyDict_Check(object) && KeepOfDict(object, pending) < 0) return -1;
  traverseproc traverse = Py_TYPE(object)->tp_traverse;
  return traverse == NULL ? 0 : traverse(object, Keep, pending);
}

int KeepForever(void) {
  Pending pending = {0};
  PyGC_Head* frozen = &_PyInterpreterState_GET()->gc.permanent_generation.head;
  int failed = 0;
  for (PyGC_Head* head = _PyGCHead_NEXT(frozen); head != frozen && !failed;
       head = _PyGCHead_NEXT(head)) {
    failed = Keep((PyObject*)(head + 1), &pending) < 0;
    while (pending.count > 0 && !failed) {
      failed = KeepOf(pending.objects[--pending.count], &pending) < 0;
    }
  }
  PyMem_RawFree(pending.objects);
  return failed ? -1 : 0;
}

#ifdef __wasm__
// As in obmalloc.c and tools/guest/adapt_sources.py: the first word of a pool counts used blocks.
enum { kPoolBytes = 1024, kBlockStep = 8, kLargestBlock = 496 };
// Memory at the end of the heap for runs.
enum { kHeadroomBytes = 1 << 20 };

static PyObjectArenaAllocator g_arenas;
static int g_new_arenas = 0;

static void* CountNewArena(void* context, size_t bytes) {
  g_new_arenas++;
  return g_arenas.alloc(context, bytes);
}

// Free memory that imports left is scattered over the heap; from its end on, memory is contiguous.
static void UseUpHeap(void) {
  char* end = PyMem_RawMalloc(kHeadroomBytes);  // Larger than any gap.
  PyMem_RawFree(end);
  for (size_t size = kHeadroomBytes / 2; size >= sizeof(max_align_t); size = size * 3 / 4) {
    char* block;
    do {
      block = PyMem_RawMalloc(size);  // Never freed, on purpose.
    } while (block != NULL && block < end);
    PyMem_RawFree(block);
  }
}

// The same for pools: a new arena has contiguous ones.
static void UseUpArenas(void) {
  PyObject_GetArenaAllocator(&g_arenas);
  PyObjectArenaAllocator counting = g_arenas;
  counting.alloc = CountNewArena;
  PyObject_SetArenaAllocator(&counting);
  while (g_new_arenas == 0 && PyObject_Malloc(kLargestBlock) != NULL) {
  }
  PyObject_SetArenaAllocator(&g_arenas);
}

static int IsAlone(const void* block) {
  return *(const uint32_t*)((uintptr_t)block & ~(uintptr_t)(kPoolBytes - 1)) == 1;
}

void TakeFreshPools(void) {
  UseUpHeap();
  UseUpArenas();
  for (size_t size = kBlockStep; size <= kLargestBlock; size += kBlockStep) {
    const void* block;
    do {
      block = PyObject_Malloc(size);
    } while (block != NULL && !IsAlone(block));
  }
}
#else
void TakeFreshPools(void) {}
#endif
