#include "guest/awaits/await_meanings.h"

#include "guest/awaits/awaiting.h"
#include "guest/bridge/tool_spec.h"
#include "guest/hooks.h"

// Maximum number of aliases of aliases, or attributes of attributes, that are followed.
enum { kMaxSteps = 40 };

static const char kCalled[] = "()";

static const struct {
  Meaning of;
  const char* step;
  Meaning gives;
} kSteps[] = {
    {kModules, "asyncio", kAsyncio},
    {kAsyncio, "gather", kTakesEach},
    {kAsyncio, "create_task", kTakesFirst},
    {kAsyncio, "ensure_future", kTakesFirst},
    {kAsyncio, "wait_for", kTakesFirst},
    {kAsyncio, "shield", kTakesFirst},
    {kAsyncio, "run", kTakesFirst},
    {kAsyncio, "as_completed", kTakesItems},
    {kAsyncio, "wait", kTakesItems},
    {kAsyncio, "TaskGroup", kGroupClass},
    {kGroupClass, kCalled, kGroup},
    {kGroup, "create_task", kTakesFirst},
    {kAsyncio, "get_running_loop", kLoopGetter},
    {kAsyncio, "get_event_loop", kLoopGetter},
    {kAsyncio, "new_event_loop", kLoopGetter},
    {kLoopGetter, kCalled, kLoop},
    {kLoop, "create_task", kTakesFirst},
    {kLoop, "run_until_complete", kTakesFirst},
    {kAsyncio, "Runner", kRunnerClass},
    {kRunnerClass, kCalled, kRunner},
    {kRunner, "run", kTakesFirst},
    {kModules, "collections", kCollections},
    {kCollections, "deque", kCollects},
    {kCollections, "OrderedDict", kCollects},
    {kCollections, "defaultdict", kMakesCollection},
    {kBuiltins, "list", kCollects},
    {kBuiltins, "tuple", kCollects},
    {kBuiltins, "set", kCollects},
    {kBuiltins, "dict", kCollects},
    {kBuiltins, "iter", kPassesOn},
    {kBuiltins, "reversed", kPassesOn},
    {kBuiltins, "len", kCounts},
    {kBuiltins, "map", kMaps},
    {kBuiltins, "zip", kZips},
    {kBuiltins, "enumerate", kEnumerates},
};
enum { kStepCount = sizeof kSteps / sizeof *kSteps };

static Meaning Step(Meaning of, PyObject* word) {
  for (size_t i = 0; i < kStepCount; i++) {
    if (kSteps[i].of == of && _PyUnicode_EqualToASCIIString(word, kSteps[i].step)) {
      return kSteps[i].gives;
    }
  }
  return kUnknown;
}

static Meaning WhenCalled(Meaning of) {
  for (size_t i = 0; i < kStepCount; i++) {
    if (kSteps[i].of == of && kSteps[i].step == kCalled) return kSteps[i].gives;
  }
  return kUnknown;
}

int IsCalledLikeTaker(expr_ty func) {
  if (func->kind != Name_kind && func->kind != Attribute_kind) return 0;
  PyObject* name = func->kind == Name_kind ? func->v.Name.id : func->v.Attribute.attr;
  if (_PyUnicode_EqualToASCIIString(name, "run") || _PyUnicode_EqualToASCIIString(name, "wait")) {
    return 0;
  }
  return TakesAwaitables(Step(kAsyncio, name)) || TakesAwaitables(Step(kLoop, name));
}

// Names that this piece of code does not bind, or not yet.

static int IsTool(const Variables* variables, PyObject* name) {
  PyObject* tools = variables->tools;
  for (Py_ssize_t i = 0; tools != NULL && i < PyList_GET_SIZE(tools); i++) {
    PyObject* entry = PyList_GET_ITEM(tools, i);
    PyObject* tool = ToolName(entry);
    if (tool != NULL && _PyUnicode_EQ(tool, name)) return ToolIsFunction(entry);
  }
  return 0;
}

// Returns the meaning of `value` if it is the module, which has `meaning`, or one of its members.
// The lookup may run code, through keys that the code defines.
static Meaning MeaningOfMember(PyObject* module, Meaning meaning, PyObject* value) {
  if (module == value) return meaning;
  for (size_t i = 0; i < kStepCount; i++) {
    if (kSteps[i].of != meaning) continue;
    if (PyDict_GetItemString(PyModule_GetDict(module), kSteps[i].step) == value) {
      return kSteps[i].gives;
    }
  }
  return kUnknown;
}

// The meaning of an existing object: one of the modules above, or a member of one.
static Meaning MeaningOfObject(PyObject* value) {
  Meaning meaning = kUnknown;
  if (PyFunction_Check(value) && !IsOfAsyncio(value)) return meaning;
  for (size_t i = 0; i < kStepCount && meaning == kUnknown; i++) {
    if (kSteps[i].of != kModules) continue;
    PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), kSteps[i].step);
    if (module == NULL || !PyModule_Check(module)) continue;
    Py_INCREF(module);
    meaning = MeaningOfMember(module, kSteps[i].gives, value);
    Py_DECREF(module);
  }
  return meaning;
}

// Returns the value that earlier code of the session left under this name; null if there is none.
static PyObject* Left(PyObject* name) {
  PyObject* value = PyDict_GetItemWithError(hooks.main_globals, name);
  // Raised by a key that the code has put there.
  if (value == NULL && PyErr_Occurred()) PyErr_Clear();
  return value;
}

// Returns whether something has this name before the code runs.
static int IsThere(const Variables* variables, PyObject* name, Meaning* meaning) {
  int is_tool = IsTool(variables, name);
  PyObject* value = is_tool ? NULL : Left(name);
  *meaning = value == NULL ? kUnknown : MeaningOfObject(value);
  return is_tool || value != NULL;
}

// Returns whether `from m import *` may have bound it.
static int IsFromStar(const Variables* variables, PyObject* name, Meaning* meaning) {
  const Variable* star = variables->star;
  *meaning = kUnknown;
  if (star == NULL) return 0;
  if (star->places != star->known_places) return 1;
  for (const Source* source = star->sources; source != NULL; source = source->next) {
    if (Step(kModules, source->module) != kAsyncio) return 1;
  }
  *meaning = Step(kAsyncio, name);
  return *meaning != kUnknown;
}

static Meaning MeaningOfFree(const Variables* variables, PyObject* name) {
  Meaning meaning;
  if (IsThere(variables, name, &meaning) || IsFromStar(variables, name, &meaning)) return meaning;
  return variables->loses_track ? kUnknown : Step(kBuiltins, name);
}

// Names that this piece of code binds.

static Meaning Evaluate(Variables* variables, AwaitScope* scope, expr_ty expr, int depth);

static Meaning MeaningOfSource(Variables* variables, const Source* source, int depth) {
  if (source->value != NULL) return Evaluate(variables, source->scope, source->value, depth);
  Meaning module = Step(kModules, source->module);
  return source->member == NULL ? module : Step(module, source->member);
}

// Returns the common meaning of all its sources. Before they are bound, a global may be something
// else.
static Meaning MeaningOfSources(Variables* variables, const Variable* variable, int depth) {
  if (variable->places != variable->known_places || variable->scope->kind == kClassScope ||
      VariableIn(variables, &variables->shared, variable->name) != NULL) {
    return kUnknown;
  }
  Meaning meaning = kUnknown;
  for (const Source* source = variable->sources; source != NULL; source = source->next) {
    Meaning one = MeaningOfSource(variables, source, depth);
    if (one == kUnknown || (source != variable->sources && one != meaning)) return kUnknown;
    meaning = one;
  }
  if (variable->scope->kind != kModuleScope || meaning == kGroup || meaning == kLoop ||
      meaning == kRunner) {
    return meaning;
  }
  Meaning before;
  return IsThere(variables, variable->name, &before) && before != meaning ? kUnknown : meaning;
}

static Meaning MeaningOfName(Variables* variables, const AwaitScope* scope, PyObject* name,
                             int depth) {
  Variable* variable = VariableOf(variables, scope, name);
  if (variable == NULL) return MeaningOfFree(variables, name);
  Remembered* meaning = &variable->meaning;
  if (meaning->is_asked) return kUnknown;
  if (!meaning->is_known) {
    meaning->is_asked = 1;
    meaning->answer = (int)MeaningOfSources(variables, variable, depth);
    meaning->is_asked = 0;
    meaning->is_known = 1;
  }
  return (Meaning)meaning->answer;
}

static Meaning Evaluate(Variables* variables, AwaitScope* scope, expr_ty expr, int depth) {
  if (depth == kMaxSteps) return kUnknown;
  switch (expr->kind) {
    case Name_kind:
      return MeaningOfName(variables, scope, expr->v.Name.id, depth + 1);
    case Attribute_kind:
      return Step(Evaluate(variables, scope, expr->v.Attribute.value, depth + 1),
                  expr->v.Attribute.attr);
    case Call_kind:
      return WhenCalled(Evaluate(variables, scope, expr->v.Call.func, depth + 1));
    default:
      return kUnknown;
  }
}

Meaning MeaningOf(Variables* variables, expr_ty expr) {
  return Evaluate(variables, variables->current, expr, 0);
}

// Collections.

static int IsCollectionIn(Variables* variables, AwaitScope* scope, expr_ty expr,
                          const Variable* asking, int depth);

// Excludes a collection that already has a name, through which other code may look at it.
static int IsNewCollection(Variables* variables, AwaitScope* scope, expr_ty expr,
                           const Variable* asking, int depth) {
  return expr->kind != Name_kind && IsCollectionIn(variables, scope, expr, asking, depth);
}

static int AreSourcesNew(Variables* variables, const Variable* variable, int depth) {
  if (variable->places != variable->known_places || !IsTracked(variables, variable)) return 0;
  if (variable->scope->kind ==
      kModuleScope) {  // Before it is bound, it may be an object of one of the code's classes.
    PyObject* left = Left(variable->name);
    if (left != NULL && PyType_HasFeature(Py_TYPE(left), Py_TPFLAGS_HEAPTYPE)) return 0;
  }
  for (const Source* source = variable->sources; source != NULL; source = source->next) {
    if (source->value == NULL ||
        !IsNewCollection(variables, source->scope, source->value, variable, depth)) {
      return 0;
    }
  }
  return 1;
}

// `asking` is the variable whose sources are examined. A variable that is made from itself (`p = p
// + [x]`) is a collection if it was one before. Other cycles are not.
static int IsNameOfCollection(Variables* variables, AwaitScope* scope, PyObject* name,
                              const Variable* asking, int depth) {
  Variable* variable = VariableOf(variables, scope, name);
  if (variable == NULL || variable == asking) return variable != NULL;
  Remembered* is_collection = &variable->is_collection;
  if (is_collection->is_asked) return 0;
  if (!is_collection->is_known) {
    is_collection->is_asked = 1;
    is_collection->answer = AreSourcesNew(variables, variable, depth);
    is_collection->is_asked = 0;
    is_collection->is_known = 1;
  }
  return is_collection->answer;
}

static int IsCollectionIn(Variables* variables, AwaitScope* scope, expr_ty expr,
                          const Variable* asking, int depth) {
  if (depth == kMaxSteps) return 0;
  Meaning made_by;
  switch (expr->kind) {
    case List_kind:
    case Tuple_kind:
    case Set_kind:
    case Dict_kind:
    case ListComp_kind:
    case SetComp_kind:
    case DictComp_kind:
      return 1;
    case Call_kind:
      made_by = Evaluate(variables, scope, expr->v.Call.func, depth + 1);
      return made_by == kCollects || made_by == kMakesCollection;
    case IfExp_kind:
      return IsNewCollection(variables, scope, expr->v.IfExp.body, asking, depth + 1) &&
             IsNewCollection(variables, scope, expr->v.IfExp.orelse, asking, depth + 1);
    case BinOp_kind:
      return expr->v.BinOp.op == Add &&
             IsCollectionIn(variables, scope, expr->v.BinOp.left, asking, depth + 1) &&
             IsCollectionIn(variables, scope, expr->v.BinOp.right, asking, depth + 1);
    case Name_kind:
      return IsNameOfCollection(variables, scope, expr->v.Name.id, asking, depth + 1);
    default:
      return 0;
  }
}

int IsCollection(Variables* variables, expr_ty expr) {
  return IsCollectionIn(variables, variables->current, expr, NULL, 0);
}
