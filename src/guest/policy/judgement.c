#include "guest/policy/judgement.h"

#include <string.h>

#include "guest/policy/check.h"
#include "guest/policy/check_tools.h"

static Findings found;  // Too large for the stack of a cell; there is one run at a time.

int PolicyStart(void) {
  return RulesStart() < 0 || ModulesStart() < 0 || CheckStart() < 0 ? -1 : 0;
}

static int Contains(const Request* request, const char* text) {
  return strstr(request->code, text) != NULL;
}

// Code without the word "import" imports nothing, so the walk is skipped.
static int FindImports(Judgement* judgement, const Request* request, mod_ty tree) {
  int wanted = request->is_strict || request->is_check || request->native_packages != NULL;
  if (!wanted || !Contains(request, "import")) return 0;
  // Code that changes where modules come from may find modules that are missing here.
  int knows_better = !request->is_strict && Contains(request, "sys.path");
  ImportOptions options = {
      .native_packages = request->native_packages,
      .refuse_absent = (request->is_strict || request->native_packages != NULL) && !knows_better,
      .by_call = !request->is_strict};
  return ImportsFind(&judgement->imports, tree, &options, judgement->findings);
}

static int Check(Judgement* judgement, const Request* request, mod_ty tree, PyArena* arena) {
  Rules own;
  if (request->policy != NULL && RulesRead(&own, request->policy) < 0) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "the policy cannot be read");
    return -1;
  }
  const CheckOptions options = {
      .modules = {.rules = request->policy == NULL ? &strict_rules : &own,
                  .native_packages = request->native_packages,
                  .arena = arena},
      .tools = request->tools,
      .imports = judgement->imports.names,
      .absent = judgement->imports.absent,
  };
  int status = CheckTree(tree, &options, judgement->findings);
  if (request->policy != NULL) RulesRelease(&own);
  return status;
}

void JudgementInit(Judgement* judgement) {
  *judgement = (Judgement){.findings = &found};
}

int PolicyJudge(Judgement* judgement, const Request* request, mod_ty tree, PyArena* arena) {
  int status = FindImports(judgement, request, tree);
  if (status == 0) status = CheckToolCalls(tree, request->tools, judgement->findings);
  if (status == 0 && request->is_strict) status = Check(judgement, request, tree, arena);
  FindingsSort(judgement->findings);
  return status;
}

int MayRun(const Judgement* judgement) {
  return judgement->findings->count == 0 &&
         (judgement->imports.native == NULL || PyList_GET_SIZE(judgement->imports.native) == 0);
}

void JudgementRelease(Judgement* judgement) {
  FindingsClear(judgement->findings);
  ImportsRelease(&judgement->imports);
}
