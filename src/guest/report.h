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
// Python refused the code before it ran; takes over the current Python error. `end` is "rejected" or
// "checked".
void ReportRejected(Report* report, const char* end, PyObject* file);

// The start of a report that has `entries` fields, the end among them.
void ReportBegin(Report* report, size_t entries, const char* end);
// A str, cut to `limit` bytes of UTF-8 at a character's edge; what is no text becomes escapes.
EncodeStatus PutText(Buffer* out, PyObject* text, size_t limit);
// One entry of "findings". Line and column count from 1.
void PutFinding(Buffer* out, const char* rule, PyObject* message, long line, long column,
                PyObject* hint);

// Flushes the standard streams, whatever code has made of them.
void FlushStreams(void);

void SendReport(Report* report);
void DropReport(Report* report);

// Once, after the interpreter has started: sets memory aside for reporting that there is none.
int ReportStart(void);

#endif  // CAISSON_GUEST_REPORT_H_
