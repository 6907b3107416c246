// The findings of the policy in a piece of code: places, messages and hints, collected and reported
// together.
//
// Trust     Messages quote names of the code, truncated to a bounded length.
// Threads   With the interpreter lock held.
// Lifetime  A Findings owns its messages until FindingsClear. Hints are constants.
#ifndef CAISSON_GUEST_POLICY_FINDINGS_H_
#define CAISSON_GUEST_POLICY_FINDINGS_H_

#include "guest/python.h"

// More findings would not help the author, who must correct these first.
#define CAISSON_MAX_FINDINGS 50

typedef struct Finding {
  const char* rule;
  const char* hint;
  PyObject* own_hint;  // Owned: str that replaces the hint, or null.
  PyObject* message;   // Owned: str.
  int line;            // From 1.
  int offset;          // Bytes of UTF-8 from the start of the line, as the parser counts.
} Finding;

typedef struct Findings {
  int count;
  int more;  // Number of findings that were not kept.
  Finding items[CAISSON_MAX_FINDINGS];
} Findings;

// `format` and the following arguments are those of PyUnicode_FromFormat; use %.80U for a name.
// Returns 0, or -1 with a Python error set.
int FindingAdd(Findings* findings, const char* rule, int line, int offset, const char* hint,
               const char* format, ...);

// Gives the last finding a hint of its own. Takes over the reference, which may be null.
void FindingHint(Findings* findings, PyObject* hint);

// Sorts them in the order of the source.
void FindingsSort(Findings* findings);

void FindingsClear(Findings* findings);

#endif  // CAISSON_GUEST_POLICY_FINDINGS_H_
