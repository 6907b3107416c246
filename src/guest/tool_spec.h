// A tool as the request describes it: what its function is called with.
//
// Trust     Written by the holder from the tool's schema; the text in it may be a stranger's.
// Threads   With the interpreter's lock held.
// Lifetime  A ToolSpec borrows from the description it was read from.
#ifndef CAISSON_GUEST_TOOL_SPEC_H_
#define CAISSON_GUEST_TOOL_SPEC_H_

#include "guest/python.h"

typedef struct ToolSpec {
  PyObject* name;        // str
  PyObject* parameters;  // list
  PyObject* returns;     // str, or null.
  int takes_more;        // Keyword arguments of any other name, too.
} ToolSpec;

typedef enum ToolPresence { kRequired, kHasDefault, kMayBeOmitted } ToolPresence;

typedef struct ToolParameter {
  PyObject* name;
  PyObject* annotation;
  PyObject* fallback;  // Its default, if it has one.
  PyObject* types;     // list of JSON Schema's names for types; empty: any.
  ToolPresence presence;
  int keyword_only;
} ToolParameter;

// Of an entry of the request's "tools": its name, and its description, still encoded (bytes). Borrowed, or
// null if it has none.
PyObject* ToolName(PyObject* entry);
PyObject* ToolEncoded(PyObject* entry);

// Whether the tool becomes a function of its name. One that is described does not if the name is no
// identifier, or a builtin's; call_tool reaches it all the same.
int ToolIsFunction(PyObject* entry);

// Takes what ToolEncoded gave: a new dict, or null with a Python error set.
PyObject* ToolDescription(PyObject* encoded);
// 0, or -1 if the description is not of the agreed form; no Python error is set.
int ToolSpecRead(PyObject* description, ToolSpec* spec);

Py_ssize_t ToolParameterCount(const ToolSpec* spec);
ToolParameter ToolParameterAt(const ToolSpec* spec, Py_ssize_t index);

// "send(to: str, subject: str = ...) -> dict", or `call_tool("my.send", {"to": str})` where that is the only way to call
// it: a new reference, or null with a Python error set.
PyObject* ToolSignature(const ToolSpec* spec);

#endif  // CAISSON_GUEST_TOOL_SPEC_H_
