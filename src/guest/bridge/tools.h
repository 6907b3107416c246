// Shows the host's tools to Python code: functions with the tools' names, `call_tool`, and the
// module `_caisson`, which our own Python parts use to wait.
//
// Trust     Called by hostile code.
// Threads   With the interpreter lock held.
// Lifetime  A tool function owns its name and its description.
#ifndef CAISSON_GUEST_BRIDGE_TOOLS_H_
#define CAISSON_GUEST_BRIDGE_TOOLS_H_

#include "guest/python.h"

// Makes `_caisson` importable. Call it before the interpreter starts.
int ToolsRegister(void);
// Puts `call_tool` into builtins. Call it after the interpreter has started.
int ToolsInstall(void);

// Returns a function that calls the tool `name`: a new reference, or null with the error set. Its
// signature and docstring come from the description `encoded` (tool_spec.h), which may be null.
PyObject* ToolNew(PyObject* name, PyObject* encoded);

// Returns the twin of a tool or of `call_tool`, whose calls are pending: sent at once, to be
// awaited. A new reference; null, without an error, if `callable` is neither.
PyObject* PendingTwin(PyObject* callable);

// Returns whether it is such a call (python/caisson/loop.py, PendingCall).
int IsPendingCall(PyObject* value);

// Call before a run ends: waits for pending calls that nothing awaits, and shows their errors. Does
// not change the current error.
void ConcludeCalls(void);

#endif  // CAISSON_GUEST_BRIDGE_TOOLS_H_
