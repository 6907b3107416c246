#include "guest/run/report_judged.h"

enum { kMaxFindingBytes = 1000 };

// Returns the column, in characters from 1, at `offset` bytes into a line.
static long Column(const char* code, int line, int offset) {
  for (; line > 1 && *code != '\0'; code++) {
    line -= *code == '\n' || (*code == '\r' && code[1] != '\n');
  }
  long column = 1;
  for (; offset > 0 && *code != '\0'; code++, offset--) column += ((uint8_t)*code & 0xc0) != 0x80;
  return column;
}

static void PutHinted(Buffer* out, const Finding* finding, const char* code) {
  PyObject* hint = finding->own_hint == NULL ? PyUnicode_FromString(finding->hint)
                                             : Py_NewRef(finding->own_hint);
  PutFinding(out, finding->rule, finding->message, finding->line,
             Column(code, finding->line, finding->offset), hint == NULL ? Py_None : hint);
  Py_XDECREF(hint);
  PyErr_Clear();
}

static void PutFindings(Buffer* out, const Findings* findings, const char* code) {
  PutCStr(out, "findings");
  PutListHead(out, (size_t)findings->count + (findings->more > 0));
  for (int i = 0; i < findings->count; i++) {
    PutHinted(out, &findings->items[i], code);
  }
  if (findings->more == 0) return;
  PyObject* message = PyUnicode_FromFormat("%d more findings are not shown", findings->more);
  const Finding* last = &findings->items[findings->count - 1];
  PutHinted(out,
            &(Finding){.rule = "more",
                       .message = message == NULL ? Py_None : message,
                       .hint = "correct these first",
                       .line = last->line,
                       .offset = last->offset},
            code);
  Py_XDECREF(message);
}

static void PutNames(Buffer* out, const char* key, PyObject* names) {
  Py_ssize_t count = names == NULL ? 0 : PyList_GET_SIZE(names);
  PutCStr(out, key);
  PutListHead(out, (size_t)count);
  for (Py_ssize_t i = 0; i < count; i++) {
    PutText(out, PyList_GET_ITEM(names, i), kMaxFindingBytes);
  }
}

void ReportJudged(Report* report, const Judgement* judgement, const Request* request) {
  const Imports* imports = &judgement->imports;
  if (request->is_check) {
    ReportBegin(report, 4, "checked");
    PutFindings(&report->bytes, judgement->findings, request->code);
    PutNames(&report->bytes, "imports", imports->names);
    PutNames(&report->bytes, "modules", imports->native);
  } else if (judgement->findings->count > 0) {
    ReportBegin(report, 2, "rejected");
    PutFindings(&report->bytes, judgement->findings, request->code);
  } else {
    ReportBegin(report, 2, "needs_native");
    PutNames(&report->bytes, "modules", imports->native);
  }
}
