#include "guest/run/run.h"

#include <string.h>

#include "guest/abi.h"
#include "guest/awaits/await_calls.h"
#include "guest/bridge/calls.h"
#include "guest/bridge/request.h"
#include "guest/bridge/source.h"
#include "guest/bridge/tool_spec.h"
#include "guest/bridge/tools.h"
#include "guest/hooks.h"
#include "guest/policy/judgement.h"
#include "guest/policy/own_attributes.h"
#include "guest/run/ending.h"
#include "guest/run/report.h"
#include "guest/run/report_judged.h"
#include "guest/run/result_tree.h"

// Most code awaits nothing, or has no tools, so the walk is skipped.
static int MayAwaitTools(const Request* request) {
  int has_tools = (request->tools != NULL && PyList_GET_SIZE(request->tools) > 0) ||
                  strstr(request->code, "call_tool") != NULL;
  return has_tools &&
         (strstr(request->code, "await") != NULL || strstr(request->code, "async") != NULL);
}

static int RewriteAwaits(const Request* request, mod_ty tree, PyArena* arena) {
  return MayAwaitTools(request) ? RewriteAwaitedCalls(tree, request->tools, arena) : 0;
}

static int RewriteForPolicy(const Request* request, mod_ty tree, PyArena* arena) {
  return request->is_strict ? RewriteOwnAttributes(tree, arena) : 0;
}

// The parser and the compiler raise MemoryError or RecursionError if code is nested too deeply.
static void ExplainNesting(void) {
  if (!PyErr_ExceptionMatches(PyExc_MemoryError) && !PyErr_ExceptionMatches(PyExc_RecursionError)) {
    return;
  }
  PyErr_SetString(PyExc_SyntaxError, "the code is nested too deeply, or too large to compile");
}

// Returns the code object, or null: with the error for the rejection, or without one if the
// judgement has the reason.
static PyCodeObject* Compile(const Request* request, Judgement* judgement, TreeShape* shape) {
  if (CheckSource(request) < 0) return NULL;
  PyArena* arena = _PyArena_New();
  if (arena == NULL) return (PyCodeObject*)PyErr_NoMemory();
  PyCompilerFlags flags = {
      .cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE | PyCF_ALLOW_TOP_LEVEL_AWAIT,
      .cf_feature_version = PY_MINOR_VERSION};
  PyCodeObject* code = NULL;
  mod_ty tree = _PyParser_ASTFromString(request->code, request->file, Py_file_input, &flags, arena);
  if (tree != NULL && PolicyJudge(judgement, request, tree, arena) == 0 &&
      (MayRun(judgement) || (request->is_check && judgement->findings->count == 0)) &&
      RewriteForPolicy(request, tree, arena) == 0 && RewriteAwaits(request, tree, arena) == 0 &&
      RewriteForResult(tree, request->file, arena, shape) == 0) {
    code = _PyAST_Compile(tree, request->file, &flags, -1, arena);
  }
  _PyArena_Free(arena);
  if (code == NULL && PyErr_Occurred()) ExplainNesting();
  return code;
}

// Removes `name` from the globals and returns its value: a new reference, or null.
static PyObject* Pop(PyObject* globals, PyObject* name) {
  PyObject* value = Py_XNewRef(PyDict_GetItemWithError(globals, name));
  if (value != NULL && PyDict_DelItem(globals, name) < 0) PyErr_Clear();
  return value;
}

// If top-level code awaits, its coroutine is run to its end on the cell's event loop.
static PyObject* Complete(PyObject* value) {
  if (value == NULL || !PyCoro_CheckExact(value)) return value;
  PyObject* completed = PyObject_CallOneArg(hooks.run_coroutine, value);
  Py_DECREF(value);
  return completed;
}

// Executes `code`: 0 and its result (may be null), or -1 with a Python error set.
static int Execute(PyCodeObject* code, TreeShape shape, PyObject** result) {
  PyObject* globals = hooks.main_globals;
  PyObject* value = PyEval_EvalCode((PyObject*)code, globals, globals);
  if (code->co_flags & CO_COROUTINE) value = Complete(value);
  if (value == NULL) return -1;
  Py_DECREF(value);
  if (shape == kModuleShape) {
    *result = Pop(globals, result_name);
    return 0;
  }
  PyObject* body = Pop(globals, body_name);
  if (body == NULL) {
    PyErr_SetString(PyExc_SystemError, "the code's body is gone");
    return -1;
  }
  int is_async = ((PyCodeObject*)PyFunction_GET_CODE(body))->co_flags & CO_COROUTINE;
  value = PyObject_CallNoArgs(body);
  Py_DECREF(body);
  *result = is_async ? Complete(value) : value;
  return *result == NULL ? -1 : 0;
}

static int DefineTools(PyObject* tools) {
  for (Py_ssize_t i = 0; tools != NULL && i < PyList_GET_SIZE(tools); i++) {
    PyObject* entry = PyList_GET_ITEM(tools, i);
    if (!ToolIsFunction(entry)) continue;
    PyObject* name = ToolName(entry);
    PyObject* tool = ToolNew(name, ToolEncoded(entry));
    int failed = tool == NULL || PyDict_SetItem(hooks.main_globals, name, tool) < 0;
    Py_XDECREF(tool);
    if (failed) return -1;
  }
  return 0;
}

static int SetEnvironment(PyObject* environment) {
  if (environment == NULL) return 0;
  PyObject* done = PyObject_CallOneArg(hooks.set_environment, environment);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
}

// Objects that code leaves behind are released before the report is sent, so that a __del__ that
// prints or calls tools does so within the run.
static void RunCode(const Request* request, PyCodeObject* code, TreeShape shape, Report* report) {
  PyObject* result = NULL;
  GuardExceptions(request->is_strict ? kHideObj : kShowAll);
  int failed = SetEnvironment(request->environment) < 0 || DefineTools(request->tools) < 0 ||
               Execute(code, shape, &result) < 0;
  ConcludeCalls();
  if (failed) {
    ReportRaised(report, request->file);
  } else {
    ReportReturned(report, result, request->result_bytes);
  }
  Py_XDECREF(result);
  EndProgram(request->keeps_cell ? kKeepCell : kDiscardCell);
}

static void RunRequest(const Request* request, Report* report) {
  TreeShape shape = kModuleShape;
  Judgement judgement;
  JudgementInit(&judgement);
  PyCodeObject* code = Compile(request, &judgement, &shape);
  if (code == NULL && PyErr_Occurred()) {
    ReportRejected(report, request->is_check ? "checked" : "rejected", request->file);
  } else if (request->is_check || !MayRun(&judgement)) {
    ReportJudged(report, &judgement, request);
  } else {
    RunCode(request, code, shape, report);
  }
  Py_XDECREF(code);
  JudgementRelease(&judgement);
}

int32_t caisson_run(void) {
  if (SourceKeep() < 0) PyErr_Clear();
  Request request;
  if (TakeRequest(&request) < 0) return 1;
  CallsBeginRun();
  if (SourceSet(request.file, request.code, request.code_size) < 0) PyErr_Clear();
  Report report;
  RunRequest(&request, &report);
  FlushStreams();
  ReleaseRequest(&request);
  SendReport(&report);
  return 0;
}

void RunWarmUp(const char* code) {
  Request request = {.code = code,
                     .code_size = strlen(code),
                     .result_bytes = 4096,
                     .keeps_cell = 1,
                     .file = Py_NewRef(hooks.default_file)};
  Report report;
  RunRequest(&request, &report);
  FlushStreams();
  ReleaseRequest(&request);
  DropReport(&report);
}
