#include "guest/awaits/awaiting.h"

#include <internal/pycore_frame.h>
#include <string.h>

#include "guest/bridge/tools.h"
#include "guest/hooks.h"

Awaiting awaiting;

static int IsScalar(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) || PyBytes_CheckExact(value);
}

// Returns whether a tool may have returned it. A list of tasks is excluded: awaiting it is a
// mistake, and Python reports that.
static int IsAnswer(PyObject* value) {
  if (IsScalar(value) || PyDict_CheckExact(value)) return 1;
  if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return 0;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, i);
    if (!IsScalar(item) && !PyDict_CheckExact(item) && !PyList_CheckExact(item) &&
        !PyTuple_CheckExact(item)) {
      return 0;
    }
  }
  return 1;
}

static PyObject* Awaitable(PyObject* Py_UNUSED(self), PyObject* value) {
  return IsAnswer(value) ? PyObject_CallOneArg(hooks.given, value) : Py_NewRef(value);
}

// Passes it to asyncio as a future, which is cheaper than the task that asyncio would make of it.
static PyObject* FutureOrAwaitable(PyObject* value) {
  return IsPendingCall(value) ? PyObject_CallMethod(value, "future", NULL) : Awaitable(NULL, value);
}

static PyObject* Awaitables(PyObject* values) {
  PyObject* list = PySequence_List(values);
  for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
    PyObject* one = FutureOrAwaitable(PyList_GET_ITEM(list, i));
    if (one == NULL) {
      Py_CLEAR(list);
    } else {
      PyList_SetItem(list, i, one);
    }
  }
  return list;
}

// For asyncio.wait.
static PyObject* Tasks(PyObject* values) {
  PyObject* list = Awaitables(values);
  PyObject* tasks = list == NULL ? NULL : PyObject_CallOneArg(hooks.tasks, list);
  Py_XDECREF(list);
  return tasks;
}

// Returns the function behind `callable` if asyncio defines it; borrowed, or null.
static PyFunctionObject* FunctionOfAsyncio(PyObject* callable) {
  if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
  if (!PyFunction_Check(callable)) return NULL;
  PyObject* module = ((PyFunctionObject*)callable)->func_module;
  const char* name = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
  if (name == NULL) {
    PyErr_Clear();
    return NULL;
  }
  size_t size = strlen("asyncio");
  int is_of_asyncio =
      strncmp(name, "asyncio", size) == 0 && (name[size] == '.' || name[size] == '\0');
  return is_of_asyncio ? (PyFunctionObject*)callable : NULL;
}

// Returns the replacement for argument number `i` of the function: a new reference, or null.
static PyObject* Taken(PyObject* name, PyObject* value, Py_ssize_t i) {
  if (_PyUnicode_EqualToASCIIString(name, "gather")) return FutureOrAwaitable(value);
  if (i > 0) return Py_NewRef(value);
  if (_PyUnicode_EqualToASCIIString(name, "wait")) return Tasks(value);
  if (_PyUnicode_EqualToASCIIString(name, "as_completed")) return Awaitables(value);
  return Awaitable(NULL, value);
}

int IsOfAsyncio(PyObject* callable) {
  return FunctionOfAsyncio(callable) != NULL;
}

static PyObject* TakeAnswers(PyObject* callable, PyObject* args, PyObject* keywords) {
  PyFunctionObject* function = FunctionOfAsyncio(callable);
  PyObject* name = function == NULL ? NULL : Py_NewRef(function->func_name);
  PyObject* taken = name == NULL ? Py_NewRef(args) : PyTuple_New(PyTuple_GET_SIZE(args));
  for (Py_ssize_t i = 0; name != NULL && taken != NULL && i < PyTuple_GET_SIZE(args); i++) {
    PyObject* one = Taken(name, PyTuple_GET_ITEM(args, i), i);
    if (one == NULL) {
      Py_CLEAR(taken);
    } else {
      PyTuple_SET_ITEM(taken, i, one);
    }
  }
  Py_XDECREF(name);
  PyObject* value = taken == NULL ? NULL : PyObject_Call(callable, taken, keywords);
  Py_XDECREF(taken);
  return value;
}

static PyMethodDef take_answers = {"take_answers", (PyCFunction)(void (*)(void))TakeAnswers,
                                   METH_VARARGS | METH_KEYWORDS, NULL};

static PyObject* Taking(PyObject* Py_UNUSED(self), PyObject* callable) {
  return IsOfAsyncio(callable) ? PyCFunction_New(&take_answers, callable) : Py_NewRef(callable);
}

// A call of a function of the code whose value is awaited. Its frame is the frame of `function`
// that `caller` called: a frame that waits for a call has no other above it.
typedef struct AwaitedCall {
  PyObject* function;
  const struct _PyInterpreterFrame* caller;
} AwaitedCall;

static _Thread_local AwaitedCall awaited_call;

static const struct _PyInterpreterFrame* CurrentFrame(void) {
  return PyThreadState_Get()->cframe->current_frame;
}

static PyObject* CallAwaited(PyObject* function, PyObject* args, PyObject* keywords) {
  AwaitedCall outer = awaited_call;
  awaited_call = (AwaitedCall){.function = function, .caller = CurrentFrame()};
  PyObject* value = PyObject_Call(function, args, keywords);
  awaited_call = outer;
  return value;
}

static PyMethodDef call_awaited = {"call_awaited", (PyCFunction)(void (*)(void))CallAwaited,
                                   METH_VARARGS | METH_KEYWORDS, NULL};

static int ReturnsWhatItReturns(PyObject* callable) {
  const int made_by_calling = CO_COROUTINE | CO_GENERATOR | CO_ASYNC_GENERATOR;
  return PyFunction_Check(callable) && !IsOfAsyncio(callable) &&
         (((PyCodeObject*)PyFunction_GET_CODE(callable))->co_flags & made_by_calling) == 0;
}

static PyObject* Pending(PyObject* Py_UNUSED(self), PyObject* callable) {
  PyObject* twin = PendingTwin(callable);
  if (twin != NULL || PyErr_Occurred()) return twin;
  return ReturnsWhatItReturns(callable) ? PyCFunction_New(&call_awaited, callable)
                                        : Py_NewRef(callable);
}

static PyObject* Returned(PyObject* self, PyObject* callable) {
  const struct _PyInterpreterFrame* frame = CurrentFrame();
  int is_awaited = awaited_call.function != NULL && frame->previous == awaited_call.caller &&
                   (PyObject*)frame->f_func == awaited_call.function;
  return is_awaited ? Pending(self, callable) : Py_NewRef(callable);
}

static PyObject* Twin(PyObject* Py_UNUSED(self), PyObject* callable) {
  PyObject* twin = PendingTwin(callable);
  return twin != NULL || PyErr_Occurred() ? twin : Py_NewRef(callable);
}

static PyObject* Given(PyObject* Py_UNUSED(self), PyObject* value) {
  return IsPendingCall(value) ? Py_NewRef(value) : PyObject_CallOneArg(hooks.given, value);
}

static PyMethodDef definitions[] = {
    {"awaitable", Awaitable, METH_O, NULL}, {"taking", Taking, METH_O, NULL},
    {"pending", Pending, METH_O, NULL},     {"returned", Returned, METH_O, NULL},
    {"twin", Twin, METH_O, NULL},           {"given", Given, METH_O, NULL},
};

int AwaitingStart(void) {
  PyObject** const functions[] = {&awaiting.awaitable, &awaiting.taking, &awaiting.pending,
                                  &awaiting.returned,  &awaiting.twin,   &awaiting.given};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    *functions[i] = PyCFunction_New(&definitions[i], NULL);
    if (*functions[i] == NULL) return -1;
  }
  return 0;
}
