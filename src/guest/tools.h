// What Python code sees of the host's tools: functions with the tools' names, `call_tool`, and the
// module `_caisson` with which our own Python parts wait.
//
// Trust     Called by hostile code.
// Threads   With the interpreter's lock held.
// Lifetime  A tool function owns its name and its description.
#ifndef CAISSON_GUEST_TOOLS_H_
#define CAISSON_GUEST_TOOLS_H_

#include "guest/python.h"

// The builtin, impossible to name in code, that turns a tool into its awaitable twin and hands back
// anything else unchanged. await_calls.c compiles to it.
#define CAISSON_PENDING_NAME "<pending>"

// Makes `_caisson` importable. Before the interpreter starts.
int ToolsRegister(void);
// Puts `call_tool` and CAISSON_PENDING_NAME into builtins. After it has started.
int ToolsInstall(void);

// A function that calls the tool `name`: a new reference, or null with the error set. Its signature
// and docstring come from the description, `encoded` (tool_spec.h), which may be null.
PyObject* ToolNew(PyObject* name, PyObject* encoded);

#endif  // CAISSON_GUEST_TOOLS_H_
