// The interface between the guest logic and the holder of its cell (the wasm worker, the native
// runner, a test). It is plain C because it is compiled into the guest.
//
// Trust     The guest is hostile. The holder checks every pointer and length that it is passed here
//           and every byte that comes out. The guest trusts the holder.
// Threads   One per cell in wasm. Natively host_wait is called without the interpreter lock, by any
//           number of threads; everything else with it.
// Lifetime  caisson_boot runs once, when the snapshot is made. caisson_run runs once for each piece
//           of code; a second call in the same cell continues in the same __main__ (a session).
#ifndef CAISSON_GUEST_ABI_H_
#define CAISSON_GUEST_ABI_H_

#include <stdint.h>

#ifdef __wasm__
#define CAISSON_IMPORT(name) __attribute__((import_module("host"), import_name(#name)))
#define CAISSON_EXPORT(name) __attribute__((export_name(#name)))
#else
#define CAISSON_IMPORT(name)
#define CAISSON_EXPORT(name) __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The functions that the holder provides. Each message is one encoded Value (wire/value.h).

// Suspends the guest until the answer to call `seq` arrives or, with CAISSON_ANY_CALL, the answer
// to any call, or until `timeout_ns` has passed (negative: no timeout). Returns 1 if there is a
// message to take, 0 after the timeout. This is the only place where a cell can be parked and
// saved.
#define CAISSON_ANY_CALL (-1)
CAISSON_IMPORT(wait) int32_t host_wait(int32_t seq, int64_t timeout_ns);

#ifndef __wasm__
// Makes host_wait(CAISSON_ANY_CALL, ...) return 0 early: the one that another thread is in, or else
// the next. With several threads, host_wait(seq, ...) also returns 1 when another thread took that
// answer.
void host_wake(void);
#endif

// Sends a call, [name, positional list, keyword dict], and returns its number (0, 1, ...) at once,
// or the reason for a refusal: the message is too big, or comes from a process that the code
// forked. A call beyond the limit on calls ends the run.
#define CAISSON_POST_TOO_BIG (-1)
#define CAISSON_POST_FORKED (-2)
CAISSON_IMPORT(post) int32_t host_post(const void* message, uint32_t length);

// Copies the next message for the guest into `out` and returns its length. If it is longer than
// `capacity`, copies nothing, returns the length and keeps the message. 0: there is none. The first
// message of a run is the request; each later one is an answer (see below).
CAISSON_IMPORT(take) uint32_t host_take(void* out, uint32_t capacity);

// Sends the run's report, once, as the last action of caisson_run.
CAISSON_IMPORT(report) void host_report(const void* message, uint32_t length);

// Request: dict with
//   "code"          bytes   the source, UTF-8 (the guest refuses what is not)
//   "result_bytes"  int     the encoded result may not be longer
//   "tools"         list    what becomes functions in __main__                  (optional): names,
//                           or tuples of the name and the description, encoded once more so that
//                           only what is asked for is decoded: a dict with "name", "doc", "returns"
//                           (str), "more" (bool: takes any other keyword argument) and
//                           "parameters", a list of tuples (name, annotation, presence, default,
//                           list of JSON types, keyword only); presence 0 is required, 1 has that
//                           default, 2 may be left out. Calls of tools that are described are
//                           checked before anything runs
//   "argv0"         str     file name shown in tracebacks, default "main.py"    (optional)
//   "env"           dict    of str to str: all of os.environ for this run       (optional)
//   "policy"        0       open: no check (the default)                        (optional)
//                   1       strict, with the lists of policy/lists.h
//                   dict    strict, with other lists (policy/policy.h encodes it): for each of
//                           "imports", "builtins", "os_attributes", "attributes" and "nodes" a list
//                           of str that replaces what is allowed, with "allow_" in front what is
//                           added to it, with "block_" in front what is refused in any case
//   "native_packages" list  top-level modules that engine `native` has and code may use. With this
//                           key, what is missing here is known before anything runs (optional)
//   "check"         bool    parse, check and compile, but execute nothing       (optional)
//   "keep"          bool    another run follows in this cell: the actions at the end of a program
//                           (exit handlers...) are skipped after this one       (optional)
//
// Answer: tuple (seq, outcome, value), outcome 0 = returned value, 1 = raised (type, message),
//   2 = denied (message)
//
// Report: dict with
//   "end"       "returned" | "raised" | "rejected" | "exited" | "result_too_large" |
//               "needs_native" | "checked"
//   "result"    the value, if it has one and JSON can hold it
//   "repr"      str: repr of a result JSON cannot hold
//   "error"     dict type, message, line (int or None), traceback (str)   for raised, for rejected
//               if it is Python that refuses the code, and for exited with a status other than 0
//   "memory"    1: it was a MemoryError, and not one that the code raised itself  for raised
//   "status"    int: the status of SystemExit                              for exited
//   "findings"  list of dicts rule, message, line, column, hint            for rejected and
//               checked, in the order of the source; line and column count from 1, columns in
//               characters
//   "imports"   list of str: the top-level modules the code imports        for checked
//   "modules"   list of str: those of native_packages that the code needs and that are not here, so
//               that engine `native` has to run it                          for needs_native
//               (nothing was executed) and checked

// The functions that the holder calls.

// Starts the interpreter: modules imported, everything warm and frozen. Returns 0 on success.
CAISSON_EXPORT(caisson_boot) int32_t caisson_boot(void);

// Runs the request that host_take delivers. Returns 0 once the report is sent; anything else is a
// bug.
CAISSON_EXPORT(caisson_run) int32_t caisson_run(void);

#ifdef __cplusplus
}
#endif

#endif  // CAISSON_GUEST_ABI_H_
