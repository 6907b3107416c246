// What awaited calls are rewritten to (await_calls.h): functions that decide, when the code runs,
// what is a tool. The code has no name for them.
//
// Trust     They are given whatever the code has.
// Threads   With the interpreter's lock held.
// Lifetime  Made once; they live as long as the interpreter.
#ifndef CAISSON_GUEST_AWAITING_H_
#define CAISSON_GUEST_AWAITING_H_

#include "guest/python.h"

typedef struct Awaiting {
  // Of a value that is awaited: itself, or something awaitable if a tool may have given it.
  PyObject* awaitable;
  // Of a function: if it is one of asyncio's that takes what is awaitable, one that takes what tools
  // have given as well; else itself.
  PyObject* taking;

  // Of a function whose call is awaited: a tool's twin, whose calls are pending; of a function of
  // the code's own, one that asks it to return what is pending as it is; else itself.
  PyObject* pending;
  // Of a function f in `return f(...)`: as above, if whoever called the function that returns awaits
  // what that gives; else itself.
  PyObject* returned;
  // Of a function: a tool's twin, or itself. Of what its calls give, then: something to await.
  PyObject* twin;
  PyObject* given;
} Awaiting;

extern Awaiting awaiting;

int AwaitingStart(void);

// Whether it is a function, or a method, that asyncio defines in Python.
int IsOfAsyncio(PyObject* callable);

// Whether a function that is named like this may be a tool: those are not reached through attributes.
static inline int MayBeTool(expr_ty func) {
  return func->kind == Name_kind || func->kind == Subscript_kind;
}

#endif  // CAISSON_GUEST_AWAITING_H_
