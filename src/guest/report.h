// Says how a run ended: builds the report of abi.h and hands it to the holder.
//
// Trust     Results and exceptions are hostile objects: their __repr__, __str__ and __del__ may do
//           anything, and whatever that is, exactly one well-formed report goes out.
// Threads   With the interpreter's lock held.
// Lifetime  Nothing is kept from one run to the next.
#ifndef CAISSON_GUEST_REPORT_H_
#define CAISSON_GUEST_REPORT_H_

#include "guest/value_codec.h"

// A report that is being written, before it is sent.
typedef struct Report {
  Buffer bytes;
} Report;

// The code ended by itself; `result` may be null.
void ReportReturned(Report* report, PyObject* result, size_t result_bytes);
// The code raised; takes over the current Python error. `file` is the code's file name.
void ReportRaised(Report* report, PyObject* file);
// The code was refused before it ran; takes over the current Python error.
void ReportRejected(Report* report, PyObject* file);

// Whether the run raised a MemoryError of a type that is not Python's own: its module has an allocator of
// its own, as numpy does.
extern int reported_foreign_memory_error;

// Flushes the standard streams, whatever code has made of them.
void FlushStreams(void);

void SendReport(Report* report);
void DropReport(Report* report);

// Once, after the interpreter has started: sets memory aside for reporting that there is none.
int ReportStart(void);

#endif  // CAISSON_GUEST_REPORT_H_
