// The description of a tool in the request: its parameters.
//
// Trust     The holder writes it from the tool's schema; its text may come from a third party.
// Threads   With the interpreter lock held.
// Lifetime  A ToolSpec borrows from the description it was read from.
#ifndef CAISSON_GUEST_BRIDGE_TOOL_SPEC_H_
#define CAISSON_GUEST_BRIDGE_TOOL_SPEC_H_

#include "guest/python.h"

typedef struct ToolSpec {
  PyObject* name;        // str
  PyObject* parameters;  // list
  PyObject* returns;     // str, or null.
  int takes_more;        // Takes any other keyword arguments.
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

// Return the name of an entry of the request's "tools", and its description, still encoded (bytes).
// Borrowed; null if it has none.
PyObject* ToolName(PyObject* entry);
PyObject* ToolEncoded(PyObject* entry);

// Returns whether the tool becomes a function with its name. A tool with a description does not if
// the name is not an identifier, or is that of a builtin; call_tool can still call it.
int ToolIsFunction(PyObject* entry);

// Decodes the result of ToolEncoded: a new dict, or null with a Python error set.
PyObject* ToolDescription(PyObject* encoded);
// Returns 0, or -1 if the format of the description is invalid; no Python error is set.
int ToolSpecRead(PyObject* description, ToolSpec* spec);

Py_ssize_t ToolParameterCount(const ToolSpec* spec);
ToolParameter ToolParameterAt(const ToolSpec* spec, Py_ssize_t index);

// Returns "send(to: str, subject: str = ...) -> dict", or `call_tool("my.send", {"to": str})` if
// that is the only way to call it: a new reference, or null with a Python error set.
PyObject* ToolSignature(const ToolSpec* spec);

#endif  // CAISSON_GUEST_BRIDGE_TOOL_SPEC_H_
