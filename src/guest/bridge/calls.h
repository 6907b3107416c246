// Sends calls to the host's tools and waits for their answers: the lowest part of the bridge.
//
// Trust     Hostile code calls this with hostile objects. The arguments are encoded without running
//           any of their code. Answers come from the holder.
// Threads   With the interpreter lock held. Natively it is released while waiting: other threads
//           run, and may call too. In wasm there is one thread, and a wait suspends the whole cell.
// Lifetime  An answer that arrived while another one was awaited is kept until it is requested.
#ifndef CAISSON_GUEST_BRIDGE_CALLS_H_
#define CAISSON_GUEST_BRIDGE_CALLS_H_

#include "guest/python.h"

// Call once, after the interpreter has started.
int CallsStart(void);
// Call before each run: drops unanswered calls of earlier runs of a session.
void CallsBeginRun(void);

// Sends a call and returns its number, or -1 with the error set: TypeError if an argument cannot be
// sent, ToolError if the holder refuses the call. The arguments are those of a vectorcall.
int64_t CallsPost(PyObject* name, PyObject* const* args, Py_ssize_t positional, PyObject* keywords);
// The same from a tuple and a dict, each of which may be null.
int64_t CallsPostPacked(PyObject* name, PyObject* args, PyObject* keywords);

// Waits for `call`. Returns its value (a new reference), or null with ToolError, ApprovalDenied or
// UncertainError set.
PyObject* CallsFinish(int64_t call);

// Returns all answers that have arrived as a list of (call, value, error). Waits up to `timeout_ns`
// (negative: forever) for the first.
PyObject* CallsWait(int64_t timeout_ns);

// Makes the CallsWait that another thread is in, or else the next one, return early.
void CallsWake(void);

// Returns the number of calls whose answers were not returned yet.
int32_t CallsOutstanding(void);

// Suspends the cell for this time, whatever arrives meanwhile. Returns 0, or -1 with the error set.
int CallsSleep(int64_t duration_ns);

#endif  // CAISSON_GUEST_BRIDGE_CALLS_H_
