#include "guest/policy/findings.h"

#include <stdarg.h>

int FindingAdd(Findings* findings, const char* rule, int line, int offset, const char* hint,
               const char* format, ...) {
  if (findings->count == CAISSON_MAX_FINDINGS) {
    findings->more++;
    return 0;
  }
  va_list arguments;
  va_start(arguments, format);
  PyObject* message = PyUnicode_FromFormatV(format, arguments);
  va_end(arguments);
  if (message == NULL) return -1;
  findings->items[findings->count++] =
      (Finding){.rule = rule, .hint = hint, .message = message, .line = line, .offset = offset};
  return 0;
}

void FindingHint(Findings* findings, PyObject* hint) {
  if (hint == NULL) PyErr_Clear();
  if (findings->more > 0) {
    Py_XDECREF(hint);
  } else {
    Py_XSETREF(findings->items[findings->count - 1].own_hint, hint);
  }
}

static int IsBefore(const Finding* a, const Finding* b) {
  return a->line != b->line ? a->line < b->line : a->offset < b->offset;
}

// Findings at one place stay in the order in which they were found.
void FindingsSort(Findings* findings) {
  for (int i = 1; i < findings->count; i++) {
    Finding moved = findings->items[i];
    int to = i;
    for (; to > 0 && IsBefore(&moved, &findings->items[to - 1]); to--) {
      findings->items[to] = findings->items[to - 1];
    }
    findings->items[to] = moved;
  }
}

void FindingsClear(Findings* findings) {
  for (int i = 0; i < findings->count; i++) {
    Py_CLEAR(findings->items[i].message);
    Py_CLEAR(findings->items[i].own_hint);
  }
  findings->count = findings->more = 0;
}
