// The Python functions of the guest that its C parts call, and the objects that both share. They
// are fetched once, when the snapshot is made, so that code which rebinds names in those modules
// cannot affect them.
//
// Trust     The functions are ours but run among the objects of hostile code: their results are
//           checked, and any of them may raise.
// Threads   With the interpreter lock held.
// Lifetime  Filled by caisson_boot; kept as long as the interpreter lives.
#ifndef CAISSON_GUEST_HOOKS_H_
#define CAISSON_GUEST_HOOKS_H_

#include "guest/python.h"

typedef struct Hooks {
  PyObject* run_coroutine;  // caisson.loop.run(coroutine) -> value
  PyObject* tool_call;      // caisson.loop.tool_call(name, args, kwargs) -> PendingCall
  PyObject* conclude;       // caisson.loop.conclude()
  PyObject* given;          // caisson.awaiting.given(value) -> coroutine
  PyObject* tasks;          // caisson.awaiting.tasks(awaitables) -> tasks
  PyObject* describe;       // caisson.report.describe(exception, file) -> type, message, line, text
  PyObject* set_environment;  // caisson.environment.replace(dict of str)
  PyObject* is_missing;       // caisson.imports.is_missing(top-level name) -> bool
  PyObject* syntax_hint;      // caisson.report.syntax_hint(exception) -> str
  PyObject* tool_error;       // caisson.ToolError(type, message)
  PyObject* approval_denied;  // caisson.ApprovalDenied(message)
  PyObject* uncertain_error;  // caisson.UncertainError(message)
  PyObject* source_cache;     // linecache.cache
  PyObject* source_function;  // _caisson.source() -> str
  PyObject* standard_out;     // The streams of the snapshot.
  PyObject* standard_error;
  PyObject* main_globals;  // __main__.__dict__
  PyObject* default_file;  // "main.py"
} Hooks;

extern Hooks hooks;

#endif  // CAISSON_GUEST_HOOKS_H_
