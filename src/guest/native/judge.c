#include "guest/native/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "guest/awaits/await_calls.h"
#include "guest/awaits/awaiting.h"
#include "guest/bridge/value_codec.h"
#include "guest/native/foreign_tree.h"
#include "guest/native/mirror.h"
#include "guest/policy/judgement.h"
#include "guest/policy/modules.h"
#include "guest/policy/own_attributes.h"
#include "guest/run/report_judged.h"
#include "guest/tree.h"

// Trees have a few bytes for each byte of code.
enum { kMaxMessage = 64 << 20, kMaxDepth = 3000 };

static int channel;

// The other end has closed the socket: there is nobody to report to.
static void ReadAll(void* out, size_t size) {
  for (uint8_t* at = out; size > 0;) {
    ssize_t got = read(channel, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) _exit(EXIT_SUCCESS);
    at += got;
    size -= (size_t)got;
  }
}

static void WriteAll(const void* bytes, size_t size) {
  for (const uint8_t* at = bytes; size > 0;) {
    ssize_t written = write(channel, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(EXIT_SUCCESS);
    at += written;
    size -= (size_t)written;
  }
}

// Sends the value, which may be null, and releases it.
static void Send(PyObject* value) {
  Buffer buffer;
  BufferInit(&buffer, NULL, 0, kMaxMessage);
  Encoder encoder = {.out = &buffer, .mode = kAnyValue};
  if (value == NULL || EncodeObject(&encoder, value) != kEncoded) _exit(EXIT_FAILURE);
  uint32_t size = (uint32_t)buffer.size;
  WriteAll(&size, sizeof size);
  WriteAll(buffer.data, size);
  BufferFree(&buffer);
  Py_DECREF(value);
}

static PyObject* Receive(void) {
  uint32_t size;
  ReadAll(&size, sizeof size);
  uint8_t* bytes = size > kMaxMessage ? NULL : PyMem_RawMalloc(size + 1);
  if (bytes == NULL) _exit(EXIT_FAILURE);
  ReadAll(bytes, size);
  Cursor cursor = {.at = bytes, .end = bytes + size};
  PyObject* value = DecodeObject(&cursor);
  PyMem_RawFree(bytes);
  return value;
}

PyObject* AskForeign(const char* what, PyObject* name) {
  Send(Py_BuildValue("(sO)", what, name));
  return Receive();
}

static int Malformed(void) {
  PyErr_SetString(PyExc_ValueError, "malformed question to the judge");
  return -1;
}

static PyObject* ListOrNull(PyObject* message, const char* key) {
  PyObject* value = PyDict_GetItemString(message, key);
  return value != NULL && PyList_CheckExact(value) ? value : NULL;
}

static int IsTrue(PyObject* message, const char* key) {
  return PyDict_GetItemString(message, key) == Py_True;
}

// The request borrows from the message. Anything but a known policy is refused.
static int ReadRequest(PyObject* message, Request* request) {
  PyObject* code = PyDict_GetItemString(message, "code");
  PyObject* policy = PyDict_GetItemString(message, "policy");
  if (code == NULL || !PyBytes_CheckExact(code) || policy == NULL) return Malformed();
  *request = (Request){.code = PyBytes_AS_STRING(code),
                       .code_size = (size_t)PyBytes_GET_SIZE(code),
                       .tools = ListOrNull(message, "tools"),
                       .native_packages = ListOrNull(message, "native_packages"),
                       .is_check = IsTrue(message, "check")};
  if (PyDict_CheckExact(policy)) {
    request->policy = policy;
    request->is_strict = 1;
    return 0;
  }
  long number = PyLong_CheckExact(policy) ? PyLong_AsLong(policy) : -1;
  request->is_strict = number == 1;
  return number == 0 || number == 1 ? 0 : Malformed();
}

static const struct {
  PyObject** function;
  const char* name;
} kWrappers[] = {
    {&awaiting.awaitable, "awaitable"}, {&awaiting.taking, "taking"},
    {&awaiting.pending, "pending"},     {&awaiting.returned, "returned"},
    {&awaiting.twin, "twin"},           {&awaiting.given, "given"},
};

static int AddEdit(PyObject* edits, PyObject* edit) {
  int status = edit == NULL ? -1 : PyList_Append(edits, edit);
  Py_XDECREF(edit);
  return status;
}

// Finds an expression that WrapInCall has inserted: a call of a method of a constant function.
static int FindWrapper(TreeVisitor* visitor, expr_ty* slot) {
  expr_ty expr = *slot;
  if (expr->kind != Call_kind || expr->v.Call.func->kind != Attribute_kind) return kVisitChildren;
  expr_ty called = expr->v.Call.func->v.Attribute.value;
  for (size_t i = 0; called->kind == Constant_kind && i < sizeof kWrappers / sizeof *kWrappers;
       i++) {
    if (called->v.Constant.value != *kWrappers[i].function) continue;
    PyObject* edit = Py_BuildValue("(is)", expr->end_col_offset, kWrappers[i].name);
    return AddEdit(visitor->state, edit) < 0 ? kVisitFailed : kVisitChildren;
  }
  return kVisitChildren;
}

// The policy puts names before the parts of a class pattern that have none.
static int FindNames(TreeVisitor* visitor, pattern_ty pattern) {
  if (pattern->kind != MatchClass_kind) return 0;
  asdl_identifier_seq* attributes = pattern->v.MatchClass.kwd_attrs;
  if (asdl_seq_LEN(pattern->v.MatchClass.patterns) > 0) return 0;
  PyObject* names = PyList_New(0);
  int failed = names == NULL;
  for (Py_ssize_t i = 0; !failed && i < asdl_seq_LEN(attributes); i++) {
    failed = PyList_Append(names, asdl_seq_GET(attributes, i)) < 0;
  }
  if (!failed) {
    failed = AddEdit(visitor->state, Py_BuildValue("(iO)", pattern->end_col_offset, names)) < 0;
  }
  Py_XDECREF(names);
  return failed ? -1 : 0;
}

static PyObject* FindEdits(const Request* request, mod_ty tree) {
  PyObject* edits = PyList_New(0);
  TreeVisitor visitor = {
      .expr = FindWrapper, .pattern = request->is_strict ? FindNames : NULL, .state = edits};
  if (edits != NULL && VisitStmts(&visitor, tree->v.Module.body) < 0) Py_CLEAR(edits);
  return edits;
}

static PyObject* MakeReport(const Judgement* judgement, const Request* request) {
  Report report;
  ReportJudged(&report, judgement, request);
  PyObject* bytes = report.bytes.failed ? PyErr_NoMemory()
                                        : PyBytes_FromStringAndSize((const char*)report.bytes.data,
                                                                    (Py_ssize_t)report.bytes.size);
  DropReport(&report);
  return bytes;
}

static PyObject* Answer(const Judgement* judgement, const Request* request, mod_ty tree) {
  int may_run = MayRun(judgement);
  PyObject* report =
      may_run && !request->is_check ? Py_NewRef(Py_None) : MakeReport(judgement, request);
  PyObject* edits = report == NULL ? NULL : FindEdits(request, tree);
  // A check goes on to compile code that has no findings, whatever it imports.
  int goes_on = may_run || (request->is_check && judgement->findings->count == 0);
  PyObject* answer = edits == NULL ? NULL
                                   : Py_BuildValue("(sOOO)", "judged", goes_on ? Py_True : Py_False,
                                                   report, edits);
  Py_XDECREF(report);
  Py_XDECREF(edits);
  return answer;
}

// The policy has no rules for what Python 3.11 does not have (I7).
static int RefuseUnknown(const Judgement* judgement, PyObject* unknown) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(unknown); i++) {
    int line, offset;
    PyObject* what;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(unknown, i), "iiU", &line, &offset, &what) ||
        FindingAdd(judgement->findings, "node", line, offset,
                   "write it as Python 3.11 would have it", "the policy knows no %U", what) < 0) {
      return -1;
    }
  }
  FindingsSort(judgement->findings);
  return 0;
}

static int LoadStar(TreeVisitor* visitor, stmt_ty* slot) {
  stmt_ty stmt = *slot;
  if (stmt->kind != ImportFrom_kind || stmt->v.ImportFrom.module == NULL) return kVisitChildren;
  alias_ty first = asdl_seq_GET(stmt->v.ImportFrom.names, 0);
  if (_PyUnicode_EqualToASCIIString(first->name, "*")) {
    LoadStandard(visitor->state, stmt->v.ImportFrom.module);
  }
  return PyErr_Occurred() ? kVisitFailed : kVisitSkip;
}

static int SkipExpr(TreeVisitor* Py_UNUSED(visitor), expr_ty* Py_UNUSED(slot)) {
  return kVisitSkip;
}

// The policy asks what `from m import *` binds only of modules that are loaded. A cell of ours has
// those that are common.
static int LoadStars(const Request* request, mod_ty tree, PyArena* arena) {
  Rules own;
  if (!request->is_strict) return 0;
  if (request->policy != NULL && RulesRead(&own, request->policy) < 0) return Malformed();
  ModulePolicy policy = {.rules = request->policy == NULL ? &strict_rules : &own,
                         .native_packages = request->native_packages,
                         .arena = arena};
  TreeVisitor visitor = {.stmt = LoadStar, .expr = SkipExpr, .state = &policy};
  int status = VisitStmts(&visitor, tree->v.Module.body);
  if (request->policy != NULL) RulesRelease(&own);
  return status;
}

static PyObject* JudgeTree(PyObject* message, const Request* request, Judgement* judgement,
                           PyObject* unknown, PyArena* arena) {
  mod_ty tree = ForeignTreeRead(message, arena, unknown);
  if (tree == NULL) return NULL;
  int has_rules = !request->is_strict || PyList_GET_SIZE(unknown) == 0;
  int failed = has_rules ? LoadStars(request, tree, arena) < 0 ||
                               PolicyJudge(judgement, request, tree, arena) < 0
                         : RefuseUnknown(judgement, unknown) < 0;
  if (!failed && MayRun(judgement) && IsTrue(message, "awaits")) {
    failed = RewriteAwaitedCalls(tree, request->tools, arena) < 0;
  }
  return failed ? NULL : Answer(judgement, request, tree);
}

static PyObject* Judge(PyObject* message) {
  Request request;
  if (!PyDict_CheckExact(message) || ReadRequest(message, &request) < 0 ||
      MirrorUpdate(message) < 0) {
    return NULL;
  }
  PyArena* arena = _PyArena_New();
  PyObject* unknown = PyList_New(0);
  PyObject* answer = NULL;
  Judgement judgement;
  JudgementInit(&judgement);
  if (arena != NULL && unknown != NULL) {
    answer = JudgeTree(message, &request, &judgement, unknown, arena);
  }
  JudgementRelease(&judgement);
  Py_XDECREF(unknown);
  if (arena != NULL) _PyArena_Free(arena);
  return answer;
}

// Takes over the current Python error.
static PyObject* Failure(void) {
  PyObject *type, *value, *trace;
  int is_nested =
      PyErr_ExceptionMatches(PyExc_MemoryError) || PyErr_ExceptionMatches(PyExc_RecursionError);
  PyErr_Fetch(&type, &value, &trace);
  PyObject* text = is_nested || value == NULL ? NULL : PyObject_Str(value);
  PyErr_Clear();
  PyObject* answer = is_nested ? Py_BuildValue("(s)", "nested")
                               : Py_BuildValue("(sO)", "failed", text == NULL ? Py_None : text);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return answer;
}

void caisson_judge(int socket) {
  channel = socket;
  for (;;) {
    PyObject* message = Receive();
    PyObject* answer = message == NULL ? NULL : Judge(message);
    Py_XDECREF(message);
    Send(answer == NULL ? Failure() : answer);
  }
}

static PyStatus Configure(PyConfig* config, const char* library) {
  config->site_import = 0;
  config->write_bytecode = 0;
  config->install_signal_handlers = 0;
  config->pathconfig_warnings = 0;
  config->parse_argv = 0;
  config->module_search_paths_set = 1;
  wchar_t* path = Py_DecodeLocale(library, NULL);
  if (path == NULL) return PyStatus_NoMemory();
  PyStatus status = PyWideStringList_Append(&config->module_search_paths, path);
  PyMem_RawFree(path);
  if (PyStatus_Exception(status)) return status;
  // Set explicitly; otherwise CPython searches the file system for itself.
  status = PyConfig_SetString(config, &config->executable, L"");
  if (PyStatus_Exception(status)) return status;
  return PyConfig_SetString(config, &config->program_name, L"python3");
}

int32_t caisson_judge_boot(const char* library) {
  PyPreConfig before;
  PyPreConfig_InitIsolatedConfig(&before);
  before.utf8_mode = 1;
  PyConfig config;
  if (PyStatus_Exception(Py_PreInitialize(&before))) return 1;
  PyConfig_InitIsolatedConfig(&config);
  PyStatus status = Configure(&config, library);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) return 1;
  Py_SetRecursionLimit(kMaxDepth);
  PyGC_Disable();
  if (AwaitingStart() < 0 || OwnAttributesStart() < 0 || PolicyStart() < 0 ||
      ForeignTreeStart() < 0 || MirrorStart() < 0) {
    PyErr_Print();
    return 2;
  }
  return 0;
}
