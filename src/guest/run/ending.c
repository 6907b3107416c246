#include "guest/run/ending.h"

#include "guest/hooks.h"
//
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>

extern void _PyAtExit_Call(PyInterpreterState* interpreter);  // atexitmodule.c

enum { kTexts, kWriters, kRandoms, kBufferKinds };

static PyTypeObject* file_type;                   // _io.FileIO, the base of every open file.
static initproc open_file;                        // Its own tp_init.
static PyObject* is_writable;                     // Its method, unbound; raises for a closed file.
static PyTypeObject* buffer_types[kBufferKinds];  // Types that buffer data, the outermost first.

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

// Returns all objects of a type that were made since the boot: a new list, or null. Objects made by
// the boot are in the permanent generation.
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

// Code can find the list and change it meanwhile.
static void ForEach(PyObject* items, void (*visit)(PyObject* item)) {
  if (items == NULL) PyErr_Clear();
  for (Py_ssize_t i = 0; items != NULL && i < PyList_GET_SIZE(items); i++) {
    PyObject* item = Py_NewRef(PyList_GET_ITEM(items, i));
    visit(item);
    Py_DECREF(item);
  }
  Py_XDECREF(items);
}

static int AnyIs(PyObject* items, int (*is)(PyObject* item)) {
  int any = 0;
  if (items == NULL) PyErr_Clear();
  for (Py_ssize_t i = 0; items != NULL && !any && i < PyList_GET_SIZE(items); i++) {
    PyObject* item = Py_NewRef(PyList_GET_ITEM(items, i));
    any = is(item);
    Py_DECREF(item);
  }
  Py_XDECREF(items);
  return any;
}

static void Flush(PyObject* file) {
  PyObject* done = PyObject_CallMethodNoArgs(file, &_Py_ID(flush));
  Py_XDECREF(done);
  if (done != NULL) return;
  // A closed or detached one raises ValueError.
  if (PyErr_ExceptionMatches(PyExc_ValueError)) {
    PyErr_Clear();
  } else {
    PyErr_WriteUnraisable(file);
  }
}

static int IsDunder(PyObject* name) {
  return PyUnicode_GET_LENGTH(name) > 2 && PyUnicode_READ_CHAR(name, 0) == '_' &&
         PyUnicode_READ_CHAR(name, 1) == '_';
}

// The objects that the names of __main__ refer to, in the order of release: objects that a __del__
// is likely to need stay longest.
typedef enum Share { kData, kClassesAndClosures, kFunctions, kShares, kStays = kShares } Share;

static Share ShareOf(PyObject* value) {
  if (PyModule_Check(value)) return kStays;
  if (!PyCallable_Check(value)) return kData;
  if (!PyObject_IS_GC(value)) return kStays;  // It can hold nothing: a tool, a type of Python.
  int is_plain = PyFunction_Check(value) && PyFunction_GET_CLOSURE(value) == NULL;
  return is_plain ? kFunctions : kClassesAndClosures;
}

static void ReleaseGlobal(PyObject* name, Share share) {
  if (!PyUnicode_CheckExact(name) || IsDunder(name)) return;
  PyObject* value = PyDict_GetItemWithError(hooks.main_globals, name);
  int is_due = value != NULL && ShareOf(value) == share;
  if (is_due) PyDict_SetItem(hooks.main_globals, name, Py_None);
  PyErr_Clear();  // Also errors from keys with their own comparison.
}

static void ReleaseData(PyObject* name) {
  ReleaseGlobal(name, kData);
}

static void ReleaseClassOrClosure(PyObject* name) {
  ReleaseGlobal(name, kClassesAndClosures);
}

static void ReleaseFunction(PyObject* name) {
  ReleaseGlobal(name, kFunctions);
}

// As Python does it, but only if there is something to wait for.
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

static int HoldsFiles(void) {
  may_hold_files = AnyIs(FindAll(file_type), IsOpenForWriting);
  return may_hold_files;
}

static void FlushFiles(void) {
  for (int i = 0; i < kBufferKinds; i++) ForEach(FindAll(buffer_types[i]), Flush);
}

// The owner of a file may have more to write than the file knows of (an archive its directory), so
// owners go first. In a cycle a file may be closed before its writer is finalized, so everything is
// flushed before cycles are collected.
static void ReleaseFiles(void) {
  void (*const releases[kShares])(PyObject* name) = {ReleaseData, ReleaseClassOrClosure,
                                                     ReleaseFunction};
  PyGC_Enable();
  for (int i = 0; i < kShares && HoldsFiles(); i++) {
    ForEach(PyDict_Keys(hooks.main_globals), releases[i]);
    if (!HoldsFiles()) return;
    FlushFiles();
    PyGC_Collect();
    FlushFiles();
  }
}

void EndProgram(AfterRun after) {
  if (after == kDiscardCell) {
    JoinThreads();
    CallHandlers();
  }
  if (!may_hold_files) return;
  if (after == kDiscardCell) {
    ReleaseFiles();
  } else if (HoldsFiles()) {
    FlushFiles();
  }
}

static PyTypeObject* TypeOf(PyObject* module, const char* name) {
  PyObject* type = PyObject_GetAttrString(module, name);
  return type != NULL && PyType_Check(type) ? (PyTypeObject*)type : NULL;
}

// Subclasses take their tp_init from the entry in its dict.
static int WatchOpening(void) {
  PyObject* init = PyDict_GetItemString(file_type->tp_dict, "__init__");
  if (init == NULL || !Py_IS_TYPE(init, &PyWrapperDescr_Type)) return -1;
  open_file = file_type->tp_init;
  file_type->tp_init = OpenFile;
  ((PyWrapperDescrObject*)init)->d_wrapped = (void*)OpenFile;
  return 0;
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
  return is_writable == NULL ? -1 : WatchOpening();
}

void EndingKnowHandlers(void) {
  boot_handlers = CountHandlers();
  may_hold_files = 0;
}
