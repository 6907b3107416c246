// Posting calls to the host's tools and waiting for their answers: the lowest part of the bridge.
//
// Trust     Called by hostile code with hostile objects; the arguments are encoded without running
//           any of their code. Answers come from the holder.
// Threads   With the interpreter's lock held, which natively is given up while waiting: others run, and
//           may call too. In wasm there is one thread, and a wait sets the whole cell aside.
// Lifetime  An answer that arrived while somebody else's was awaited is kept until asked for.
#ifndef CAISSON_GUEST_CALLS_H_
#define CAISSON_GUEST_CALLS_H_

#include "guest/python.h"

// Once, after the interpreter has started.
int CallsStart(void);
// Before each run: what earlier ones of a session left unanswered is nobody's.
void CallsBeginRun(void);

// Posts a call and returns its number, or -1 with the error set: TypeError for what cannot be sent,
// ToolError if the holder refuses it. The arguments are a vectorcall's.
int64_t CallsPost(PyObject* name, PyObject* const* args, Py_ssize_t positional, PyObject* keywords);
// The same from a tuple and a dict, each of which may be null.
int64_t CallsPostPacked(PyObject* name, PyObject* args, PyObject* keywords);

// Waits for `call`: its value (a new reference), or null with ToolError, ApprovalDenied or UncertainError set.
PyObject* CallsFinish(int64_t call);

// All answers that are there, waiting up to `timeout_ns` (negative: forever) for the first, as a
// list of (call, value, error).
PyObject* CallsWait(int64_t timeout_ns);

// Makes the CallsWait that another thread is in, or else the next one, return early.
void CallsWake(void);

// How many calls are posted whose answers were not handed out yet.
int32_t CallsOutstanding(void);

// Sets the cell aside for that long, whatever arrives meanwhile. 0, or -1 with the error set.
int CallsSleep(int64_t duration_ns);

#endif  // CAISSON_GUEST_CALLS_H_
