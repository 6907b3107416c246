// ForeignTreeRead on arbitrary bytes: never crashes, and either returns a tree or sets an error. An
// input is an encoded Value, as the judge receives it. In C, as CPython's internal headers are.
#include <stdlib.h>

#include "guest/abi.h"
#include "guest/bridge/value_codec.h"
#include "guest/native/foreign_tree.h"
#include "guest/native/judge.h"

// A judge holds no cell.
int32_t host_wait(int32_t Py_UNUSED(seq), int64_t Py_UNUSED(timeout_ns)) {
  abort();
}
void host_wake(void) {
  abort();
}
int32_t host_post(const void* Py_UNUSED(message), uint32_t Py_UNUSED(length)) {
  abort();
}
uint32_t host_take(void* Py_UNUSED(out), uint32_t Py_UNUSED(capacity)) {
  abort();
}
void host_report(const void* Py_UNUSED(message), uint32_t Py_UNUSED(length)) {
  abort();
}

int LLVMFuzzerInitialize(int* Py_UNUSED(argc), char*** Py_UNUSED(argv));
int LLVMFuzzerInitialize(int* Py_UNUSED(argc), char*** Py_UNUSED(argv)) {
  if (caisson_judge_boot(PYTHON_LIB_DIR) != 0) abort();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Cursor cursor = {.at = data, .end = data + size};
  PyObject* message = DecodeObject(&cursor);
  PyArena* arena = _PyArena_New();
  PyObject* unknown = PyList_New(0);
  if (arena == NULL || unknown == NULL) abort();
  if (message != NULL && PyDict_CheckExact(message)) {
    int is_read = ForeignTreeRead(message, arena, unknown) != NULL;
    if (is_read == (PyErr_Occurred() != NULL)) {
      PyErr_Print();
      abort();
    }
  }
  PyErr_Clear();
  Py_DECREF(unknown);
  Py_XDECREF(message);
  _PyArena_Free(arena);
  return 0;
}
