#include "guest/run/boot.h"

#include <string.h>

#include "guest/abi.h"
#include "guest/awaits/awaiting.h"
#include "guest/bridge/calls.h"
#include "guest/bridge/tools.h"
#include "guest/hooks.h"
#include "guest/policy/judgement.h"
#include "guest/policy/own_attributes.h"
#include "guest/run/ending.h"
#include "guest/run/forever.h"
#include "guest/run/report.h"
#include "guest/run/result_tree.h"
#include "guest/run/run.h"

// Where the modules of a snapshot are. A native build uses other directories.
#ifndef CAISSON_MODULE_PATH
#define CAISSON_MODULE_PATH "/lib/caisson:/lib/caisson/wasm:/lib/python3.11"
#endif

Hooks hooks;

static int Failed(PyStatus status) {
  if (!PyStatus_Exception(status)) return 0;
  fprintf(stderr, "caisson_boot: %s\n", status.err_msg == NULL ? "failed" : status.err_msg);
  return 1;
}

static PyStatus AddModulePath(PyConfig* config, const char* path) {
  wchar_t part[1024];
  size_t size = 0;
  config->module_search_paths_set = 1;
  for (size_t i = 0; i <= strlen(path); i++) {
    if (path[i] != ':' && path[i] != '\0') {
      if (size < sizeof part / sizeof part[0] - 1) part[size++] = (wchar_t)(unsigned char)path[i];
      continue;
    }
    part[size] = L'\0';
    size = 0;
    PyStatus status = PyWideStringList_Append(&config->module_search_paths, part);
    if (PyStatus_Exception(status)) return status;
  }
  return PyStatus_Ok();
}

static PyStatus Configure(PyConfig* config, const BootPlan* plan) {
  config->site_import = 0;
  config->write_bytecode = 0;
  config->install_signal_handlers = 0;
  config->pathconfig_warnings = 0;
  config->parse_argv = 0;
  // The seed of str hashes is part of the snapshot, so it is the same for all runs in any case.
  // That is harmless: code that provokes collisions slows down only its own run.
  config->use_hash_seed = 1;
  config->hash_seed = 0;
  PyStatus status = AddModulePath(config, plan->module_path);
  if (PyStatus_Exception(status)) return status;
  status = PyConfig_SetString(config, &config->stdio_encoding, L"utf-8");
  if (PyStatus_Exception(status)) return status;
  status = PyConfig_SetString(config, &config->stdio_errors, L"backslashreplace");
  if (PyStatus_Exception(status)) return status;
  // Set explicitly; otherwise CPython searches the file system for itself.
  status = PyConfig_SetString(config, &config->executable, L"");
  if (PyStatus_Exception(status)) return status;
  status = PyConfig_SetString(config, &config->program_name, L"python3");
  if (PyStatus_Exception(status)) return status;
  wchar_t* argv[] = {L"main.py"};
  return PyConfig_SetArgv(config, 1, argv);
}

static int StartInterpreter(const BootPlan* plan) {
  PyPreConfig before;
  PyPreConfig_InitIsolatedConfig(&before);
  before.utf8_mode = 1;
  if (Failed(Py_PreInitialize(&before)) || ToolsRegister() < 0) return -1;
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  PyStatus status = Configure(&config, plan);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  return Failed(status) ? -1 : 0;
}

static int Fetch(PyObject** slot, const char* module_name, const char* name) {
  PyObject* module = PyImport_ImportModule(module_name);
  *slot = module == NULL ? NULL : PyObject_GetAttrString(module, name);
  Py_XDECREF(module);
  return *slot == NULL ? -1 : 0;
}

static int FetchHooks(const BootPlan* plan) {
  const char* loop = plan->forks ? "caisson.lazy" : "caisson.loop";
  hooks.default_file = PyUnicode_InternFromString("main.py");
  return hooks.default_file == NULL || Fetch(&hooks.run_coroutine, loop, "run") < 0 ||
                 Fetch(&hooks.tool_call, loop, "tool_call") < 0 ||
                 Fetch(&hooks.conclude, loop, "conclude") < 0 ||
                 Fetch(&hooks.given, "caisson.awaiting", "given") < 0 ||
                 Fetch(&hooks.tasks, "caisson.awaiting", "tasks") < 0 ||
                 Fetch(&hooks.describe, "caisson.report", "describe") < 0 ||
                 Fetch(&hooks.set_environment, "caisson.environment", "replace") < 0 ||
                 Fetch(&hooks.is_missing, "caisson.imports", "is_missing") < 0 ||
                 Fetch(&hooks.syntax_hint, "caisson.report", "syntax_hint") < 0 ||
                 Fetch(&hooks.tool_error, "caisson", "ToolError") < 0 ||
                 Fetch(&hooks.approval_denied, "caisson", "ApprovalDenied") < 0 ||
                 Fetch(&hooks.uncertain_error, "caisson", "UncertainError") < 0 ||
                 Fetch(&hooks.source_cache, "linecache", "cache") < 0 ||
                 Fetch(&hooks.source_function, "_caisson", "source") < 0 ||
                 Fetch(&hooks.main_globals, "__main__", "__dict__") < 0 ||
                 Fetch(&hooks.standard_out, "sys", "stdout") < 0 ||
                 Fetch(&hooks.standard_error, "sys", "stderr") < 0
             ? -1
             : 0;
}

// Calls a step of python/caisson/prepare.py with the plan.
static int Prepare(const char* step, const BootPlan* plan) {
  PyObject* function;
  if (Fetch(&function, "caisson.prepare", step) < 0) return -1;
  PyObject* done = PyObject_CallFunction(function, "is", plan->forks, plan->preload);
  Py_DECREF(function);
  Py_XDECREF(done);
  return done == NULL ? -1 : 0;
}

void WarmUp(void) {
  RunWarmUp("1+1");
  RunWarmUp("print(end='')");
  RunWarmUp("[1, 'a', {'b': 2.5}]");
  RunWarmUp("1/0");
  RunWarmUp("x = ");
}

int32_t Boot(const BootPlan* plan) {
  if (StartInterpreter(plan) < 0) return 1;
  if (EndingStart() < 0 || CallsStart() < 0 || ToolsInstall() < 0 || ResultTreeStart() < 0 ||
      AwaitingStart() < 0 || OwnAttributesStart() < 0 || Prepare("modules", plan) < 0 ||
      FetchHooks(plan) < 0 || ReportStart() < 0 || PolicyStart() < 0) {
    PyErr_Print();
    return 2;
  }
  for (int i = 0; i < 3; i++) WarmUp();
  if (Prepare("finish", plan) < 0) {
    PyErr_Print();
    return 3;
  }
  EndingKnowHandlers();
  // Forked cells use the system's CPython, which counts all references.
  if (!plan->forks && KeepForever() < 0) return 4;
  TakeFreshPools();
  return 0;
}

int32_t caisson_boot(void) {
  static const BootPlan snapshot = {.module_path = CAISSON_MODULE_PATH, .preload = ""};
  return Boot(&snapshot);
}
