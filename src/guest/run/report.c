#include "guest/run/report.h"

#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_sysmodule.h>
#include <opcode.h>
#include <string.h>

#include "guest/abi.h"
#include "guest/hooks.h"

// Maximum sizes of a message and a traceback.
enum { kMaxMessageBytes = 16 * 1024, kMaxTracebackBytes = 64 * 1024 };

static uint8_t report_storage[4096];

// Freed when code ran out of memory, so that the exception can still be described.
enum { kBallastBytes = 2 * 1024 * 1024 };
static void* ballast;

// The parts of a report whose size hostile code controls are truncated beforehand, so writing one
// can only fail if there is no memory; the report then says only that.
void ReportBegin(Report* report, size_t entries, const char* end) {
  BufferInit(&report->bytes, report_storage, sizeof report_storage, SIZE_MAX / 4);
  PutDictHead(&report->bytes, entries);
  PutCStr(&report->bytes, "end");
  PutCStr(&report->bytes, end);
}

static void PutMemory(Report* report) {
  PutCStr(&report->bytes, "memory");
  PutInt(&report->bytes, 1);
}

static void BeginOutOfMemory(Report* report) {
  BufferFree(&report->bytes);
  ReportBegin(report, 3, "raised");
  PutMemory(report);
  PutCStr(&report->bytes, "error");
  PutDictHead(&report->bytes, 4);
  PutCStr(&report->bytes, "type");
  PutCStr(&report->bytes, "MemoryError");
  PutCStr(&report->bytes, "message");
  PutCStr(&report->bytes, "");
  PutCStr(&report->bytes, "line");
  PutNone(&report->bytes);
  PutCStr(&report->bytes, "traceback");
  PutCStr(&report->bytes, "MemoryError\n");
}

EncodeStatus PutText(Buffer* out, PyObject* text, size_t limit) {
  PyObject* encoded =
      PyUnicode_Check(text) ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
  if (encoded == NULL) {
    PyErr_Clear();
    return PutCStr(out, "");
  }
  const char* bytes = PyBytes_AS_STRING(encoded);
  size_t size = (size_t)PyBytes_GET_SIZE(encoded);
  if (size > limit) {
    size = limit;
    while (size > 0 && ((uint8_t)bytes[size] & 0xc0) == 0x80) size--;
  }
  EncodeStatus status = PutStr(out, bytes, size);
  Py_DECREF(encoded);
  return status;
}

// repr(), also of ints that are too long for JSON and for Python's own limit. Ints with more digits
// are not shown, because the conversion to decimal takes quadratic time.
enum { kMaxReprDigits = 20000 };
static PyObject* Repr(PyObject* result) {
  int* most_digits = &_PyInterpreterState_GET()->int_max_str_digits;
  int before = *most_digits;  // 0: no limit.
  if (before > 0 && before < kMaxReprDigits) *most_digits = kMaxReprDigits;
  PyObject* text = PyObject_Repr(result);
  *most_digits = before;
  return text;
}

static EncodeStatus PutRepr(Buffer* out, PyObject* result, size_t limit) {
  PyObject* text = Repr(result);
  if (text == NULL) {
    PyErr_Clear();
    text = PyLong_Check(result)
               ? PyUnicode_FromFormat("<int of %zu bits>", _PyLong_NumBits(result))
               : PyUnicode_FromFormat("<unprintable %.200s object>", Py_TYPE(result)->tp_name);
  }
  if (text == NULL) {
    PyErr_Clear();
    return kOutOfMemory;
  }
  EncodeStatus status = PutText(out, text, limit);
  Py_DECREF(text);
  return status;
}

void ReportReturned(Report* report, PyObject* result, size_t result_bytes) {
  if (result == NULL || result == Py_None) {
    ReportBegin(report, 1, "returned");
    return;
  }
  ReportBegin(report, 2, "returned");
  PutCStr(&report->bytes, "result");
  Encoder encoder = {.out = &report->bytes, .mode = kJsonValue};
  report->bytes.limit = report->bytes.size + result_bytes;
  EncodeStatus status = EncodeNested(&encoder, result, 1);
  report->bytes.limit = SIZE_MAX / 4;
  if (status == kUnsupported || status == kTooDeep) {
    BufferFree(&report->bytes);
    ReportBegin(report, 2, "returned");
    PutCStr(&report->bytes, "repr");
    status = PutRepr(&report->bytes, result, result_bytes);
  }
  if (status == kTooBig) {
    BufferFree(&report->bytes);
    ReportBegin(report, 1, "result_too_large");
  } else if (status != kEncoded) {
    BeginOutOfMemory(report);
  }
}

// Returns the last line of `file` in a traceback, or None: as describe() does, for when that fails.
static PyObject* LastLine(PyObject* exception, PyObject* file) {
  long line = -1;
  PyObject* trace = PyException_GetTraceback(exception);
  for (PyTracebackObject* at = (PyTracebackObject*)trace; at != NULL; at = at->tb_next) {
    PyCodeObject* code = PyFrame_GetCode(at->tb_frame);
    if (code->co_filename == file) line = PyCode_Addr2Line(code, at->tb_lasti);
    Py_DECREF(code);
  }
  Py_XDECREF(trace);
  return line < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(line);
}

// Returns (type, message, line, traceback) without calling Python code: a new reference, or null if
// even that fails.
static PyObject* DescribePlainly(PyObject* exception, PyObject* file) {
  PyObject* message = PyObject_Str(exception);
  if (message == NULL) {
    PyErr_Clear();
    message = PyUnicode_FromString("<the exception cannot be shown>");
  }
  PyObject* line = LastLine(exception, file);
  const char* type = Py_TYPE(exception)->tp_name;
  PyObject* text = message == NULL ? NULL : PyUnicode_FromFormat("%s: %U\n", type, message);
  PyObject* fields = NULL;
  if (text != NULL && line != NULL) fields = Py_BuildValue("sOOO", type, message, line, text);
  PyErr_Clear();
  Py_XDECREF(message);
  Py_XDECREF(line);
  Py_XDECREF(text);
  return fields;
}

// The description of an exception.
typedef struct Description {
  PyObject* fields;  // (type, message, line, traceback), or null.
  const char* type;  // Used if it is null.
} Description;

static Description Describe(PyObject* exception, PyObject* file) {
  Description description = {.type = Py_TYPE(exception)->tp_name};
  PyObject* fields = PyObject_CallFunctionObjArgs(hooks.describe, exception, file, NULL);
  if (fields == NULL || !PyTuple_CheckExact(fields) || PyTuple_GET_SIZE(fields) != 4) {
    PyErr_Clear();
    Py_XDECREF(fields);
    fields = DescribePlainly(exception, file);
  }
  description.fields = fields;
  return description;
}

static EncodeStatus PutLine(Buffer* out, PyObject* line) {
  long number = PyLong_CheckExact(line) ? PyLong_AsLong(line) : -1;
  if (number < 0) {
    PyErr_Clear();
    return PutNone(out);
  }
  return PutInt(out, number);
}

static void PutError(Buffer* out, const Description* description) {
  PyObject* fields = description->fields;
  PutCStr(out, "error");
  PutDictHead(out, 4);
  PutCStr(out, "type");
  if (fields == NULL) {
    PutCStr(out, description->type);
    PutCStr(out, "message");
    PutCStr(out, "");
    PutCStr(out, "line");
    PutNone(out);
    PutCStr(out, "traceback");
    PutCStr(out, "");
    return;
  }
  PutText(out, PyTuple_GET_ITEM(fields, 0), 200);
  PutCStr(out, "message");
  PutText(out, PyTuple_GET_ITEM(fields, 1), kMaxMessageBytes);
  PutCStr(out, "line");
  PutLine(out, PyTuple_GET_ITEM(fields, 2));
  PutCStr(out, "traceback");
  PutText(out, PyTuple_GET_ITEM(fields, 3), kMaxTracebackBytes);
}

// Returns the current error as a normalised exception with its traceback: a new reference.
static PyObject* TakeException(void) {
  if (PyErr_ExceptionMatches(PyExc_MemoryError)) {
    PyMem_RawFree(ballast);
    ballast = NULL;
  }
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != NULL && value != NULL) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  PyErr_Clear();
  return value;
}

// Python's rules for SystemExit: None is 0, an int is used as it is, anything else is printed and
// is 1.
static int ExitStatus(PyObject* exception) {
  PyObject* code = PyObject_GetAttrString(exception, "code");
  int status = 1;
  if (code == NULL) {
    PyErr_Clear();
  } else if (code == Py_None) {
    status = 0;
  } else if (PyLong_Check(code)) {
    status = (int)PyLong_AsLong(code);
    PyErr_Clear();
  } else {
    PyObject* stream = PySys_GetObject("stderr");
    if (stream != NULL && stream != Py_None) PyFile_WriteObject(code, stream, Py_PRINT_RAW);
    PyErr_Clear();
    PySys_WriteStderr("\n");
    PyErr_Clear();
  }
  Py_XDECREF(code);
  return status;
}

static void ReportExited(Report* report, PyObject* exception, PyObject* file) {
  int status = ExitStatus(exception);
  ReportBegin(report, status == 0 ? 2 : 3, "exited");
  PutCStr(&report->bytes, "status");
  PutInt(&report->bytes, status);
  if (status == 0) return;
  Description description = Describe(exception, file);
  PutError(&report->bytes, &description);
  Py_XDECREF(description.fields);
}

// Returns whether an instruction of Python code raised the exception, rather than a function that
// it called.
static int IsRaisedByCode(PyObject* exception) {
  PyObject* trace = PyException_GetTraceback(exception);
  PyTracebackObject* last = (PyTracebackObject*)trace;
  while (last != NULL && last->tb_next != NULL) last = last->tb_next;
  int opcode = -1;
  if (last != NULL) {
    PyCodeObject* code = PyFrame_GetCode(last->tb_frame);
    int at = last->tb_lasti / (int)sizeof(_Py_CODEUNIT);  // Code can make its own tracebacks.
    if (at >= 0 && at < Py_SIZE(code)) opcode = _Py_OPCODE(_PyCode_CODE(code)[at]);
    Py_DECREF(code);
  }
  Py_XDECREF(trace);
  return opcode == RAISE_VARARGS || opcode == RERAISE;
}

void ReportRaised(Report* report, PyObject* file) {
  PyObject* exception = TakeException();
  if (exception == NULL) {
    BeginOutOfMemory(report);
    return;
  }
  int is_out_of_memory =
      PyErr_GivenExceptionMatches(exception, PyExc_MemoryError) && !IsRaisedByCode(exception);
  if (PyErr_GivenExceptionMatches(exception, PyExc_SystemExit)) {
    ReportExited(report, exception, file);
  } else {
    Description description = Describe(exception, file);
    ReportBegin(report, is_out_of_memory ? 3 : 2, "raised");
    if (is_out_of_memory) PutMemory(report);
    PutError(&report->bytes, &description);
    Py_XDECREF(description.fields);
  }
  Py_DECREF(exception);
  PyErr_Clear();
}

void PutFinding(Buffer* out, const char* rule, PyObject* message, long line, long column,
                PyObject* hint) {
  PutDictHead(out, 5);
  PutCStr(out, "rule");
  PutCStr(out, rule);
  PutCStr(out, "message");
  PutText(out, message, kMaxMessageBytes);
  PutCStr(out, "line");
  PutInt(out, line);
  PutCStr(out, "column");
  PutInt(out, column);
  PutCStr(out, "hint");
  PutText(out, hint, kMaxMessageBytes);
}

// An int attribute of a SyntaxError, at least 1.
static long Position(PyObject* exception, const char* name) {
  PyObject* value = PyObject_GetAttrString(exception, name);
  long number = value != NULL && PyLong_Check(value) ? PyLong_AsLong(value) : 1;
  PyErr_Clear();
  Py_XDECREF(value);
  return number < 1 ? 1 : number;
}

void ReportRejected(Report* report, const char* end, PyObject* file) {
  PyObject* exception = TakeException();
  if (exception == NULL) {
    BeginOutOfMemory(report);
    return;
  }
  Description description = Describe(exception, file);
  PyObject* message = PyObject_GetAttrString(exception, "msg");
  PyErr_Clear();
  if (message == NULL)
    message =
        Py_NewRef(description.fields == NULL ? Py_None : PyTuple_GET_ITEM(description.fields, 1));
  PyObject* hint = PyObject_CallOneArg(hooks.syntax_hint, exception);
  PyErr_Clear();
  ReportBegin(report, 3, end);
  PutError(&report->bytes, &description);
  PutCStr(&report->bytes, "findings");
  PutListHead(&report->bytes, 1);
  PutFinding(&report->bytes, "syntax", message, Position(exception, "lineno"),
             Position(exception, "offset"), hint == NULL ? Py_None : hint);
  Py_XDECREF(hint);
  Py_DECREF(message);
  Py_XDECREF(description.fields);
  Py_DECREF(exception);
}

// Returns whether `stream` has no buffered data. Flushing writes to memory even then, which must be
// reset after the run.
#ifdef __wasm__
extern int _caisson_text_is_idle(PyObject* stream);  // tools/guest/adapt_sources.py
#else
static int _caisson_text_is_idle(PyObject* stream) {
  (void)stream;
  return 0;
}
#endif

static void Flush(PyObject* stream) {
  if (stream != NULL && _caisson_text_is_idle(stream)) return;
  PyObject* done = stream == NULL ? NULL : PyObject_CallMethodNoArgs(stream, &_Py_ID(flush));
  Py_XDECREF(done);
  PyErr_Clear();
}

// Called in every run, so it uses existing names: a new string would be interned in another page.
void FlushStreams(void) {
  PyThreadState* thread = PyThreadState_Get();
  PyObject* out = Py_XNewRef(_PySys_GetAttr(thread, &_Py_ID(stdout)));
  PyObject* error = Py_XNewRef(_PySys_GetAttr(thread, &_Py_ID(stderr)));
  if (out != hooks.standard_out && out != Py_None) Flush(out);
  if (error != hooks.standard_error && error != Py_None) Flush(error);
  Flush(hooks.standard_out);
  Flush(hooks.standard_error);
  Py_XDECREF(out);
  Py_XDECREF(error);
}

void SendReport(Report* report) {
  if (report->bytes.failed) BeginOutOfMemory(report);
  host_report(report->bytes.data, (uint32_t)report->bytes.size);
  BufferFree(&report->bytes);
}

void DropReport(Report* report) {
  BufferFree(&report->bytes);
}

int ReportStart(void) {
  ballast = PyMem_RawMalloc(kBallastBytes);
  return ballast == NULL ? -1 : 0;
}
