// The text of the code that runs, for tracebacks, `inspect` and `linecache`.
//
// Trust     Hostile text, never interpreted here.
// Threads   With the interpreter's lock held.
// Lifetime  SourceSet borrows the bytes until SourceKeep or the next SourceSet.
#ifndef CAISSON_GUEST_SOURCE_H_
#define CAISSON_GUEST_SOURCE_H_

#include "guest/python.h"

// The code of this run, valid UTF-8. Costs nothing until somebody asks for a line of it, provided
// `file` has the name that caisson.prepare registered.
int SourceSet(PyObject* file, const char* utf8, size_t size);

// Before the bytes given to SourceSet go away in a cell that goes on: functions that this code
// defined can still be shown.
int SourceKeep(void);

// The source as a str.
PyObject* SourceText(void);

#endif  // CAISSON_GUEST_SOURCE_H_
