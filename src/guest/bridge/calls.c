#include "guest/bridge/calls.h"

#include <string.h>

#include "guest/abi.h"
#include "guest/bridge/inbox.h"
#include "guest/hooks.h"

// The encoded answer to a call, before it becomes a value or an error.
enum { kReturned = 0, kRaised = 1, kDenied = 2 };

static Inbox answers_in;
static uint8_t post_storage[4096];
static PyObject* stored;     // {call: (outcome, value)}: answers that nobody has requested yet.
static int32_t outstanding;  // Posted, not yet taken.

// The holder counts a run's calls from 0. Here the run is part of a call's number, so that a call
// of an earlier run that a session kept (in a future, in a waiting thread) is never confused with
// another.
static int32_t run;

static int64_t CallOf(int32_t seq) {
  return (int64_t)run << 32 | seq;
}

// Calls that some thread waits for by number. CallsWait does not return their answers.
typedef struct Claim {
  int64_t call;
  struct Claim* next;
} Claim;
static Claim* claims;

// In cells with threads, others run while one waits.
static int32_t Wait(int32_t seq, int64_t timeout_ns) {
#ifdef __wasm__
  return host_wait(seq, timeout_ns);
#else
  int32_t arrived;
  Py_BEGIN_ALLOW_THREADS;
  arrived = host_wait(seq, timeout_ns);
  Py_END_ALLOW_THREADS;
  return arrived;
#endif
}

static int64_t RefusePost(EncodeStatus status, PyObject* culprit) {
  if (status == kUnsupported && culprit != NULL) {
    PyErr_Format(PyExc_TypeError,
                 PyUnicode_Check(culprit)
                     ? "a tool cannot be given a str with lone surrogates"
                     : "a tool cannot be given an object of type '%.200s'; pass plain data "
                       "(dict, list, tuple, str, bytes, int, float, bool, None)",
                 Py_TYPE(culprit)->tp_name);
  } else if (status == kTooDeep) {
    PyErr_SetString(PyExc_ValueError,
                    "tool arguments are nested too deeply, or contain themselves");
  } else if (status == kTooBig) {
    PyErr_SetString(PyExc_ValueError, "tool arguments are too large");
  } else {
    PyErr_NoMemory();
  }
  return -1;
}

// Raises ToolError(type, message), ApprovalDenied(message) or UncertainError(message).
static void RaiseFromArgs(PyObject* type, PyObject* args) {
  PyObject* error = args == NULL ? NULL : PyObject_CallObject(type, args);
  if (error != NULL) PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  Py_XDECREF(error);
}

static int64_t Post(Buffer* message) {
  int32_t seq = host_post(message->data, (uint32_t)message->size);
  BufferFree(message);
  if (seq < 0) {
    PyObject* args = Py_BuildValue("ss", "CallRefused",
                                   seq == CAISSON_POST_FORKED
                                       ? "a process that the code forked cannot call tools"
                                       : "the arguments are larger than a call may have");
    RaiseFromArgs(hooks.tool_error, args);
    Py_XDECREF(args);
    return -1;
  }
  outstanding++;
  return CallOf(seq);
}

static EncodeStatus EncodeVector(Encoder* encoder, PyObject* name, PyObject* const* args,
                                 Py_ssize_t positional, PyObject* keywords) {
  Buffer* out = encoder->out;
  Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
  EncodeStatus status = PutListHead(out, 3);
  if (status == kEncoded) status = EncodeNested(encoder, name, 1);
  if (status == kEncoded) status = PutListHead(out, (size_t)positional);
  for (Py_ssize_t i = 0; status == kEncoded && i < positional; i++) {
    status = EncodeNested(encoder, args[i], 2);
  }
  if (status == kEncoded) status = PutDictHead(out, (size_t)named);
  for (Py_ssize_t i = 0; status == kEncoded && i < named; i++) {
    status = EncodeNested(encoder, PyTuple_GET_ITEM(keywords, i), 2);
    if (status == kEncoded) status = EncodeNested(encoder, args[positional + i], 2);
  }
  return status;
}

int64_t CallsPost(PyObject* name, PyObject* const* args, Py_ssize_t positional,
                  PyObject* keywords) {
  Buffer message;
  BufferInit(&message, post_storage, sizeof post_storage, UINT32_MAX / 2);
  Encoder encoder = {.out = &message, .mode = kAnyValue};
  EncodeStatus status = EncodeVector(&encoder, name, args, positional, keywords);
  if (status == kEncoded) return Post(&message);
  BufferFree(&message);
  return RefusePost(status, encoder.culprit);
}

static EncodeStatus EncodePacked(Encoder* encoder, PyObject* name, PyObject* args,
                                 PyObject* keywords) {
  EncodeStatus status = PutListHead(encoder->out, 3);
  if (status == kEncoded) status = EncodeNested(encoder, name, 1);
  size_t positional = args == NULL ? 0 : (size_t)PyTuple_GET_SIZE(args);
  if (status == kEncoded) status = PutListHead(encoder->out, positional);
  for (size_t i = 0; status == kEncoded && i < positional; i++) {
    status = EncodeNested(encoder, PyTuple_GET_ITEM(args, (Py_ssize_t)i), 2);
  }
  if (status != kEncoded) return status;
  return keywords == NULL ? PutDictHead(encoder->out, 0) : EncodeNested(encoder, keywords, 1);
}

int64_t CallsPostPacked(PyObject* name, PyObject* args, PyObject* keywords) {
  Buffer message;
  BufferInit(&message, post_storage, sizeof post_storage, UINT32_MAX / 2);
  Encoder encoder = {.out = &message, .mode = kAnyValue};
  EncodeStatus status = EncodePacked(&encoder, name, args, keywords);
  if (status == kEncoded) return Post(&message);
  BufferFree(&message);
  return RefusePost(status, encoder.culprit);
}

// Decodes one answer. Returns 1, 0 if there is none, or -1 with an error set.
static int TakeAnswer(int64_t* call, int* outcome, PyObject** value) {
  Cursor message;
  int taken = InboxTake(&answers_in, &message);
  if (taken <= 0) {
    if (taken < 0) PyErr_NoMemory();
    return taken;
  }
  size_t count;
  int64_t number, how;
  if (ReadTupleHead(&message, &count) < 0 || count != 3 || ReadInt(&message, &number) < 0 ||
      ReadInt(&message, &how) < 0) {
    PyErr_SetString(PyExc_SystemError, "malformed answer from the host");
    return -1;
  }
  // A collection here could run code that takes the next message into the buffer of this one.
  int collects = PyGC_Disable();
  *value = DecodeObject(&message);
  if (collects) PyGC_Enable();
  if (*value == NULL) return -1;
  *call = CallOf((int32_t)number);
  *outcome = (int)how;
  outstanding--;
  return 1;
}

static int IsPair(PyObject* value) {
  return PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2;
}

// Returns whether (type, message) is the one error that has its own class.
static int IsUncertain(PyObject* value) {
  if (!IsPair(value)) return 0;
  PyObject* type = PyTuple_GET_ITEM(value, 0);
  return PyUnicode_Check(type) && PyUnicode_CompareWithASCIIString(type, "UncertainError") == 0;
}

// Turns an answer into its value, or raises the error that it carries. Steals `value`.
static PyObject* Settle(int outcome, PyObject* value) {
  if (outcome == kReturned) return value;
  PyObject* type = hooks.tool_error;
  PyObject* args = NULL;
  if (outcome == kRaised && IsUncertain(value)) {
    type = hooks.uncertain_error;
    args = PyTuple_Pack(1, PyTuple_GET_ITEM(value, 1));
  } else if (outcome == kRaised && IsPair(value)) {
    args = Py_NewRef(value);
  } else if (outcome == kDenied) {
    type = hooks.approval_denied;
    args = PyTuple_Check(value) ? Py_NewRef(value) : PyTuple_Pack(1, value);
  } else {
    args = Py_BuildValue("sO", "ToolError", value);
  }
  RaiseFromArgs(type, args);
  Py_XDECREF(args);
  Py_DECREF(value);
  return NULL;
}

static int StoreAnswer(int64_t call, int outcome, PyObject* value) {
  PyObject* key = PyLong_FromLongLong(call);
  PyObject* entry = Py_BuildValue("iN", outcome, value);
  int failed = key == NULL || entry == NULL || PyDict_SetItem(stored, key, entry) < 0;
  Py_XDECREF(key);
  Py_XDECREF(entry);
  return failed ? -1 : 0;
}

// Stores all answers that have arrived.
static int StoreArrived(void) {
  for (;;) {
    int64_t call;
    int outcome;
    PyObject* value;
    int taken = TakeAnswer(&call, &outcome, &value);
    if (taken <= 0) return taken;
    if (StoreAnswer(call, outcome, value) < 0) return -1;
  }
}

// Returns the stored answer to `call`, settled; null without an error if there is none.
static PyObject* FromStore(int64_t call) {
  if (PyDict_GET_SIZE(stored) == 0) return NULL;
  PyObject* key = PyLong_FromLongLong(call);
  if (key == NULL) return NULL;
  PyObject* entry = _PyDict_Pop(stored, key, Py_None);
  Py_DECREF(key);
  if (entry == NULL || entry == Py_None) {
    Py_XDECREF(entry);
    return NULL;
  }
  int outcome = (int)PyLong_AsLong(PyTuple_GET_ITEM(entry, 0));
  PyObject* value = Settle(outcome, Py_NewRef(PyTuple_GET_ITEM(entry, 1)));
  Py_DECREF(entry);
  return value;
}

static PyObject* Finish(int64_t call) {
  for (;;) {
    PyObject* value = FromStore(call);
    if (value != NULL || PyErr_Occurred()) return value;
    if (!Wait((int32_t)call, -1)) {
      PyErr_SetString(PyExc_SystemError, "the host gave up on a call");
      return NULL;
    }
    int64_t answered;
    int outcome, taken;
    while ((taken = TakeAnswer(&answered, &outcome, &value)) > 0) {
      if (answered == call) return Settle(outcome, value);
      if (StoreAnswer(answered, outcome, value) < 0) return NULL;
    }
    if (taken < 0) return NULL;
    // Another thread took it, and has stored it or is about to.
  }
}

PyObject* CallsFinish(int64_t call) {
  Claim claim = {.call = call, .next = claims};
  claims = &claim;
  PyObject* value = Finish(call);
  Claim** link = &claims;
  while (*link != &claim) link = &(*link)->next;
  *link = claim.next;
  return value;
}

static int IsClaimed(PyObject* key) {
  int64_t call = claims == NULL ? -1 : PyLong_AsLongLong(key);
  const Claim* claim = claims;
  while (claim != NULL && claim->call != call) claim = claim->next;
  return claim != NULL;
}

// Returns [(call, value, error)] for all stored answers that are not claimed.
static PyObject* DrainStore(void) {
  PyObject* list = PyList_New(0);
  if (list == NULL || PyDict_GET_SIZE(stored) == 0) return list;
  PyObject* fresh = PyDict_New();
  if (fresh == NULL) {
    Py_DECREF(list);
    return NULL;
  }
  // A private copy: making an error may run code, which may call tools.
  PyObject* answers = stored;
  stored = fresh;
  Py_ssize_t position = 0;
  PyObject *key, *entry;
  while (list != NULL && PyDict_Next(answers, &position, &key, &entry)) {
    if (IsClaimed(key)) {
      if (PyDict_SetItem(stored, key, entry) < 0) Py_CLEAR(list);
      continue;
    }
    PyObject *error = NULL, *type, *trace;
    PyObject* value = Settle((int)PyLong_AsLong(PyTuple_GET_ITEM(entry, 0)),
                             Py_NewRef(PyTuple_GET_ITEM(entry, 1)));
    if (value == NULL) {
      PyErr_Fetch(&type, &error, &trace);
      PyErr_NormalizeException(&type, &error, &trace);
      Py_XDECREF(type);
      Py_XDECREF(trace);
    }
    PyObject* triple =
        PyTuple_Pack(3, key, value == NULL ? Py_None : value, error == NULL ? Py_None : error);
    if (triple == NULL || PyList_Append(list, triple) < 0) Py_CLEAR(list);
    Py_XDECREF(triple);
    Py_XDECREF(value);
    Py_XDECREF(error);
  }
  Py_DECREF(answers);
  return list;
}

PyObject* CallsWait(int64_t timeout_ns) {
  if (PyDict_GET_SIZE(stored) > 0) timeout_ns = 0;
  if ((timeout_ns != 0 || outstanding > 0) && Wait(CAISSON_ANY_CALL, timeout_ns) &&
      StoreArrived() < 0) {
    return NULL;
  }
  return DrainStore();
}

int CallsSleep(int64_t duration_ns) {
  _PyTime_t deadline = _PyTime_GetMonotonicClock() + duration_ns;
  while (duration_ns > 0 && Wait(CAISSON_ANY_CALL, duration_ns)) {
    if (StoreArrived() < 0) return -1;
    duration_ns = deadline - _PyTime_GetMonotonicClock();
  }
  return 0;
}

void CallsWake(void) {
#ifndef __wasm__
  host_wake();
#endif
}

int32_t CallsOutstanding(void) {
  return outstanding + (int32_t)PyDict_GET_SIZE(stored);
}

int CallsStart(void) {
  stored = PyDict_New();
  return stored == NULL ? -1 : 0;
}

void CallsBeginRun(void) {
  run++;
  PyDict_Clear(stored);  // Plain data: destroying it runs no code.
  outstanding = 0;
}
