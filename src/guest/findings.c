#include "guest/findings.h"

#include <stdarg.h>
#include <stdlib.h>

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

static int InSource(const void* one, const void* other) {
  const Finding *a = one, *b = other;
  return a->line != b->line ? (a->line < b->line ? -1 : 1)
                            : (a->offset > b->offset) - (a->offset < b->offset);
}

void FindingsSort(Findings* findings) {
  qsort(findings->items, (size_t)findings->count, sizeof findings->items[0], InSource);
}

void FindingsClear(Findings* findings) {
  for (int i = 0; i < findings->count; i++) Py_CLEAR(findings->items[i].message);
  findings->count = findings->more = 0;
}
