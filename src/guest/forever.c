#include "guest/forever.h"

#include "guest/python.h"
//
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>

// As in tools/guest/adapt_sources.py.
enum { kForever = 1 << 28 };

// Objects that were reached and not looked into yet.
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
// obmalloc.c: pools are pages, and the first word of one counts its blocks in use.
enum { kPoolBytes = 4096, kBlockStep = 8, kLargestBlock = 512 };

static int IsAlone(const void* block) {
  return *(const uint32_t*)((uintptr_t)block & ~(uintptr_t)(kPoolBytes - 1)) == 1;
}

void TakeFreshPools(void) {
  for (size_t size = kBlockStep; size <= kLargestBlock; size += kBlockStep) {
    const void* block;
    do {
      block = PyObject_Malloc(size);  // Never freed: that is the point.
    } while (block != NULL && !IsAlone(block));
  }
}
#else
void TakeFreshPools(void) {}
#endif
