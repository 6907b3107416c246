// What the policy has against a piece of code: places, messages and hints, collected to be reported
// together.
//
// Trust     Messages quote the code's own names, cut to a bounded length.
// Threads   With the interpreter's lock held.
// Lifetime  A Findings owns its messages until FindingsClear. Hints are constants.
#ifndef CAISSON_GUEST_FINDINGS_H_
#define CAISSON_GUEST_FINDINGS_H_

#include "guest/python.h"

// Whoever wrote more than this wants to correct those first.
#define CAISSON_MAX_FINDINGS 50

typedef struct Finding {
  const char* rule;
  const char* hint;
  PyObject* own_hint;  // Owned: str to say instead, or null.
  PyObject* message;   // Owned: str.
  int line;            // From 1.
  int offset;          // Bytes of UTF-8 from the start of the line, as the parser counts.
} Finding;

typedef struct Findings {
  int count;
  int more;  // Found, but not kept.
  Finding items[CAISSON_MAX_FINDINGS];
} Findings;

// `format` and what follows are PyUnicode_FromFormat's; a name is best given as %.80U. 0, or -1 with
// a Python error set.
int FindingAdd(Findings* findings, const char* rule, int line, int offset, const char* hint,
               const char* format, ...);

// Gives the finding that was just added a hint of its own. Takes over the reference, which may be null.
void FindingHint(Findings* findings, PyObject* hint);

// Puts them into the order of the source.
void FindingsSort(Findings* findings);

void FindingsClear(Findings* findings);

#endif  // CAISSON_GUEST_FINDINGS_H_
