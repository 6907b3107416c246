#include "guest/ending.h"

#include "guest/hooks.h"
//
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>

extern void _PyAtExit_Call(PyInterpreterState* interpreter);  // atexitmodule.c

enum { kTexts, kWriters, kRandoms, kBufferKinds };

static PyTypeObject* file_type;                   // _io.FileIO, which is below every open file.
static initproc open_file;                        // Its own tp_init.
static PyObject* is_writable;                     // Its method, unbound; raises for a closed file.
static PyTypeObject* buffer_types[kBufferKinds];  // What holds data back, the outermost first.

static int boot_handlers;
// Whether a file was opened for writing that may still be open.
static int may_hold_files;

static int IsOpenForWriting(PyObject* file) {
  PyObject* answer = PyObject_CallOneArg(is_writable, file);
  PyErr_Clear();
  Py_XDECREF(answer);
  return answer == Py_True;
}

static int OpenFile(PyObject* self, PyObject* args, PyObject* kwargs) {
  int status = open_file(self, args, kwargs);
  if (status == 0 && !may_hold_files) may_hold_files = IsOpenForWriting(self);
  return status;
}

// All objects of a type that were made since the boot: a new list, or null. What the boot has made is
// in the permanent generation.
static PyObject* FindAll(PyTypeObject* type) {
  PyObject* found = PyList_New(0);
  for (int i = 0; found != NULL && i < NUM_GENERATIONS; i++) {
    PyGC_Head* head = &_PyInterpreterState_GET()->gc.generations[i].head;
    for (PyGC_Head* at = _PyGCHead_NEXT(head); at != head; at = _PyGCHead_NEXT(at)) {
      PyObject* object = (PyObject*)(at + 1);
      if (PyObject_TypeCheck(object, type) && PyList_Append(found, object) < 0) {
        Py_CLEAR(found);
        break;
      }
    }
  }
  return found;
}

// Calls `visit` for each item until it says 0. Code can find the list and change it meanwhile.
static int All(PyObject* items, int (*visit)(PyObject* item)) {
  int go_on = 1;
  if (items == NULL) PyErr_Clear();
  for (Py_ssize_t i = 0; items != NULL && go_on && i < PyList_GET_SIZE(items); i++) {
    PyObject* item = Py_NewRef(PyList_GET_ITEM(items, i));
    go_on = visit(item);
    Py_DECREF(item);
  }
  Py_XDECREF(items);
  return go_on;
}

static int IsNotOpenForWriting(PyObject* file) {
  return !IsOpenForWriting(file);
}

static int Flush(PyObject* file) {
  PyObject* done = PyObject_CallMethod(file, "flush", NULL);
  Py_XDECREF(done);
  if (done != NULL) return 1;
  // One that is closed or detached says ValueError.
  if (PyErr_ExceptionMatches(PyExc_ValueError)) {
    PyErr_Clear();
  } else {
    PyErr_WriteUnraisable(file);
  }
  return 1;
}

static int IsDunder(PyObject* name) {
  return PyUnicode_GET_LENGTH(name) > 2 && PyUnicode_READ_CHAR(name, 0) == '_' &&
         PyUnicode_READ_CHAR(name, 1) == '_';
}

// What a __del__ is likely to need stays, tools among it.
static int ReleaseGlobal(PyObject* name) {
  if (!PyUnicode_CheckExact(name) || IsDunder(name)) return 1;
  PyObject* value = PyDict_GetItemWithError(hooks.main_globals, name);
  if (value == NULL || PyModule_Check(value) || PyCallable_Check(value)) return 1;
  if (PyDict_SetItem(hooks.main_globals, name, Py_None) < 0) PyErr_Clear();
  return 1;
}

// As Python does it, only where there is something to wait for.
static void JoinThreads(void) {
  PyThreadState* threads = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  if (PyThreadState_Next(threads) == NULL) return;
  PyObject* threading = PyDict_GetItemString(PyImport_GetModuleDict(), "threading");
  if (threading == NULL) return;
  Py_INCREF(threading);
  PyObject* done = PyObject_CallMethod(threading, "_shutdown", NULL);
  if (done == NULL) PyErr_WriteUnraisable(threading);
  Py_XDECREF(done);
  Py_DECREF(threading);
}

static int CountHandlers(void) {
  return _PyInterpreterState_GET()->atexit.ncallbacks;
}

static void CallHandlers(void) {
  if (CountHandlers() != boot_handlers) _PyAtExit_Call(PyInterpreterState_Get());
}

static void FlushFiles(void) {
  for (int i = 0; i < kBufferKinds; i++) All(FindAll(buffer_types[i]), Flush);
}

// Whoever holds files may have more to write than they know of (an archive its directory), so their
// owners go first, where they end with the run. In a cycle a file may be closed before what writes
// to it is finalized, so all is flushed before cycles are looked for.
static void WriteFilesOut(AfterRun after) {
  if (after == kDiscardCell) All(PyDict_Keys(hooks.main_globals), ReleaseGlobal);
  may_hold_files = !All(FindAll(file_type), IsNotOpenForWriting);
  if (!may_hold_files) return;
  FlushFiles();
  if (after == kKeepCell) return;
  PyGC_Collect();
  FlushFiles();
}

void EndProgram(AfterRun after) {
  if (after == kDiscardCell) {
    JoinThreads();
    CallHandlers();
  }
  if (may_hold_files) WriteFilesOut(after);
}

static PyTypeObject* TypeOf(PyObject* module, const char* name) {
  PyObject* type = PyObject_GetAttrString(module, name);
  return type != NULL && PyType_Check(type) ? (PyTypeObject*)type : NULL;
}

int EndingStart(void) {
  PyObject* io = PyImport_ImportModule("_io");
  if (io == NULL) return -1;
  buffer_types[kTexts] = TypeOf(io, "TextIOWrapper");
  buffer_types[kWriters] = TypeOf(io, "BufferedWriter");
  buffer_types[kRandoms] = TypeOf(io, "BufferedRandom");
  file_type = TypeOf(io, "FileIO");
  Py_DECREF(io);
  if (file_type == NULL || !buffer_types[kTexts] || !buffer_types[kWriters] ||
      !buffer_types[kRandoms]) {
    return -1;
  }
  is_writable = PyObject_GetAttrString((PyObject*)file_type, "writable");
  if (is_writable == NULL) return -1;
  open_file = file_type->tp_init;
  file_type->tp_init = OpenFile;
  return 0;
}

void EndingKnowHandlers(void) {
  boot_handlers = CountHandlers();
  may_hold_files = 0;
}
