// Builds the report of abi.h on how a run ended and passes it to the holder.
//
// Trust     Results and exceptions are hostile objects: their __repr__, __str__ and __del__ may do
//           anything. Exactly one well-formed report is sent in any case.
// Threads   With the interpreter lock held.
// Lifetime  Nothing is kept from one run to the next.
#ifndef CAISSON_GUEST_RUN_REPORT_H_
#define CAISSON_GUEST_RUN_REPORT_H_

#include "guest/bridge/value_codec.h"

// A report that is being written, before it is sent.
typedef struct Report {
  Buffer bytes;
} Report;

// The code ended normally; `result` may be null.
void ReportReturned(Report* report, PyObject* result, size_t result_bytes);
// The code raised; takes over the current Python error. `file` is the code's file name.
void ReportRaised(Report* report, PyObject* file);
// Python refused the code before it ran; takes over the current Python error. `end` is "rejected"
// or "checked".
void ReportRejected(Report* report, const char* end, PyObject* file);

// Begins a report with `entries` fields, including the end.
void ReportBegin(Report* report, size_t entries, const char* end);
// Appends a str, truncated to `limit` bytes of UTF-8 at a character boundary; invalid text is
// escaped.
EncodeStatus PutText(Buffer* out, PyObject* text, size_t limit);
// Appends one entry of "findings". Line and column count from 1.
void PutFinding(Buffer* out, const char* rule, PyObject* message, long line, long column,
                PyObject* hint);

// Flushes the standard streams, whatever code has replaced them with.
void FlushStreams(void);

void SendReport(Report* report);
void DropReport(Report* report);

// Call once, after the interpreter has started: reserves memory for reporting that there is none.
int ReportStart(void);

#endif  // CAISSON_GUEST_RUN_REPORT_H_
