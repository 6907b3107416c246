// Includes CPython's headers, also internal ones: the guest needs the parser's own tree, which the
// public interface only offers as Python objects.
//
// Trust     -
// Threads   -
// Lifetime  -
#ifndef CAISSON_GUEST_PYTHON_H_
#define CAISSON_GUEST_PYTHON_H_

#define PY_SSIZE_T_CLEAN
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif

#include <Python.h>  // Must be first, as CPython requires.
//
#include <internal/pycore_ast.h>
#include <internal/pycore_compile.h>
#include <internal/pycore_hashtable.h>
#include <internal/pycore_parser.h>
#include <internal/pycore_pyarena.h>
#include <internal/pycore_runtime.h>
#include <stdint.h>

#endif  // CAISSON_GUEST_PYTHON_H_
