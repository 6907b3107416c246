// The functions that awaited calls are rewritten to (await_calls.h). They decide at run time what
// is a tool. The code has no name for them.
//
// Trust     They are called with arbitrary objects of the code.
// Threads   With the interpreter lock held.
// Lifetime  Made once; they live as long as the interpreter.
#ifndef CAISSON_GUEST_AWAITS_AWAITING_H_
#define CAISSON_GUEST_AWAITS_AWAITING_H_

#include "guest/python.h"

typedef struct Awaiting {
  // Wraps a tool result so that it can be awaited. Returns other values unchanged.
  PyObject* awaitable;
  // For a function of asyncio that takes awaitables: returns one that also takes tool results.
  // Returns other functions unchanged.
  PyObject* taking;

  // For a function whose call is awaited: returns the twin of a tool, whose calls are pending; for
  // a function of the code, one that asks it to return pending calls as they are; other functions
  // unchanged.
  PyObject* pending;
  // For a function f in `return f(...)`: as above if the caller of the returning function awaits
  // the result; otherwise unchanged.
  PyObject* returned;
  // twin: returns the twin of a tool; other functions unchanged. given: makes the result of such a
  // call awaitable.
  PyObject* twin;
  PyObject* given;
} Awaiting;

extern Awaiting awaiting;

int AwaitingStart(void);

// Returns whether it is a function or a method that asyncio defines in Python.
int IsOfAsyncio(PyObject* callable);

// Returns whether a function with this name may be a tool. Tools are not reached through
// attributes.
static inline int MayBeTool(expr_ty func) {
  return func->kind == Name_kind || func->kind == Subscript_kind;
}

#endif  // CAISSON_GUEST_AWAITS_AWAITING_H_
