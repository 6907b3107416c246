// The text of the running code, for tracebacks, `inspect` and `linecache`.
//
// Trust     Hostile text, never interpreted here.
// Threads   With the interpreter lock held.
// Lifetime  SourceSet borrows the bytes until SourceKeep or the next SourceSet.
#ifndef CAISSON_GUEST_BRIDGE_SOURCE_H_
#define CAISSON_GUEST_BRIDGE_SOURCE_H_

#include "guest/python.h"

// Sets the code of this run, valid UTF-8. Costs nothing until a line of it is requested, provided
// that `file` has the name that caisson.prepare registered.
int SourceSet(PyObject* file, const char* utf8, size_t size);

// Call before the bytes given to SourceSet become invalid in a cell that continues, so that the
// source of functions that this code defined can still be shown.
int SourceKeep(void);

// Returns the source as a str.
PyObject* SourceText(void);

#endif  // CAISSON_GUEST_BRIDGE_SOURCE_H_
