// What Python code sees of the host's tools: functions with the tools' names, `call_tool`, and the
// module `_caisson` with which our own Python parts wait.
//
// Trust     Called by hostile code.
// Threads   With the interpreter's lock held.
// Lifetime  A tool function owns its name and its description.
#ifndef CAISSON_GUEST_TOOLS_H_
#define CAISSON_GUEST_TOOLS_H_

#include "guest/python.h"

// Makes `_caisson` importable. Before the interpreter starts.
int ToolsRegister(void);
// Puts `call_tool` into builtins. After it has started.
int ToolsInstall(void);

// A function that calls the tool `name`: a new reference, or null with the error set. Its signature
// and docstring come from the description, `encoded` (tool_spec.h), which may be null.
PyObject* ToolNew(PyObject* name, PyObject* encoded);

// The twin of a tool, or of `call_tool`, whose calls are pending: posted at once, to be awaited. A
// new reference; null, without an error, if `callable` is neither.
PyObject* PendingTwin(PyObject* callable);

// Whether it is one of those calls (python/caisson/loop.py, PendingCall).
int IsPendingCall(PyObject* value);

// Before a run ends: waits for pending calls that nothing awaits, and shows what went wrong with
// them. Leaves the error that is set as it is.
void ConcludeCalls(void);

#endif  // CAISSON_GUEST_TOOLS_H_
