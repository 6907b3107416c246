#include "guest/policy/checker.h"

// Packages outside the standard library are not loaded when the check runs, so everything below
// them is known only by its path: numpy.testing may be a module or anything else. Some of their
// functions execute text, or unpickle.

static PyObject* eval_name;
static PyObject* query_name;
static PyObject* allow_pickle_name;

int CheckPackagesStart(void) {
  eval_name = PyUnicode_InternFromString("eval");
  query_name = PyUnicode_InternFromString("query");
  allow_pickle_name = PyUnicode_InternFromString("allow_pickle");
  return eval_name == NULL || query_name == NULL || allow_pickle_name == NULL ? -1 : 0;
}

static PyObject* KeepPath(Checker* checker, PyObject* path) {
  return path != NULL && _PyArena_AddPyObject(checker->names.arena, path) == 0 ? path : NULL;
}

static PyObject* FindPath(Checker* checker, Scope* scope, expr_ty expr, int depth);

static PyObject* PathOfThing(Checker* checker, const Thing* thing, int depth) {
  if (thing->kind == kMember) return thing->name;
  return thing->kind == kSame ? FindPath(checker, thing->scope, thing->expr, depth + 1) : NULL;
}

static PyObject* PathOfName(Checker* checker, Scope* scope, expr_ty expr, int depth) {
  Possible what = {.count = 0};
  if (Evaluate(checker, scope, expr, &what, depth) < 0) return NULL;
  if (what.count > 0) return what.of[0].kind == kModule ? what.of[0].name : NULL;
  for (Scope* at = scope; at != NULL; at = at->parent) {
    Binding* binding = FindBinding(&checker->names, at, expr->v.Name.id);
    Thing* thing = binding == NULL ? NULL : binding->things;
    for (; thing != NULL && !PyErr_Occurred(); thing = thing->next) {
      PyObject* path = PathOfThing(checker, thing, depth);
      if (path != NULL) return path;
    }
  }
  return NULL;
}

static PyObject* FindPath(Checker* checker, Scope* scope, expr_ty expr, int depth) {
  if (depth > kMaxAliasDepth || ++checker->steps > kMaxAliasSteps) return NULL;
  if (expr->kind == Name_kind) return PathOfName(checker, scope, expr, depth);
  if (expr->kind != Attribute_kind) return NULL;
  PyObject* above = FindPath(checker, scope, expr->v.Attribute.value, depth + 1);
  if (above == NULL) return NULL;
  return KeepPath(checker, PyUnicode_FromFormat("%U.%U", above, expr->v.Attribute.attr));
}

// Returns the dotted path by which `expr` is reached from a package, or null. Borrowed.
static PyObject* PathOf(Checker* checker, expr_ty expr) {
  return FindPath(checker, checker->names.current, expr, 0);
}

static int IsPrivate(PyObject* name) {
  return PyUnicode_READ_CHAR(name, 0) == '_' && !IsDunder(name);
}

int CheckBelowPackage(Checker* checker, expr_ty attribute) {
  if (checker->modules.native_packages == NULL) return 0;
  PyObject* name = attribute->v.Attribute.attr;
  PyObject* path = PathOf(checker, attribute);
  if (path == NULL) return PyErr_Occurred() ? -1 : 0;
  if (IsStandard(path)) return 0;
  if (IsPrivate(name)) {
    return Refuse(checker, "attribute", attribute, "use what the package offers publicly",
                  "%.80U is private to the package", path);
  }
  const char* hint = HintFor(caisson_refused_below_packages, name, NULL);
  if (LookUp(checker->rules->imports, path) == kRefused) {
    hint = HintFor(caisson_refused_members, path, "leave it out");
  }
  return hint == NULL ? 0
                      : Refuse(checker, "attribute", attribute, hint, "%.80U is not allowed", path);
}

// pandas.

static int HasPandas(const Checker* checker) {
  PyObject* packages = checker->modules.native_packages;
  for (Py_ssize_t i = 0; packages != NULL && i < PyList_GET_SIZE(packages); i++) {
    PyObject* item = PyList_GET_ITEM(packages, i);
    if (PyUnicode_CheckExact(item) && _PyUnicode_EqualToASCIIString(item, "pandas")) return 1;
  }
  return 0;
}

// Other packages return DataFrames too, and in a session earlier code may have left some.
static int UsesPandas(const Checker* checker) {
  if (!HasPandas(checker)) return 0;
  PyObject* imports = checker->options->imports;
  for (Py_ssize_t i = 0; imports != NULL && i < PyList_GET_SIZE(imports); i++) {
    if (!IsStandard(PyList_GET_ITEM(imports, i))) return 1;
  }
  return PyDict_GetItemString(PyImport_GetModuleDict(), "pandas") != NULL;
}

int IsEvaluator(const Checker* checker, PyObject* name) {
  return (name == query_name || name == eval_name) && UsesPandas(checker);
}

int CheckEvaluator(Checker* checker, expr_ty place, PyObject* name) {
  if (!IsEvaluator(checker, name)) return 0;
  return Refuse(checker, "attribute", place,
                "call it where it stands, with the text as a literal: df.query('a > @n')",
                "it cannot be told what %.80U() evaluates here", name);
}

static int IsWord(Py_UCS4 c) {
  return c == '_' || Py_UNICODE_ISALNUM(c);
}

// Checks the word at `at`, which is an attribute if there is a dot before it. `@name` is a variable
// of the code; nothing of it is read or called here.
static int CheckWord(Checker* checker, expr_ty place, PyObject* text, Py_ssize_t at) {
  Py_ssize_t size = PyUnicode_GET_LENGTH(text), end = at;
  while (end < size && IsWord(PyUnicode_READ_CHAR(text, end))) end++;
  PyObject* name = PyUnicode_Substring(text, at, end);
  if (name == NULL) return -1;
  PyUnicode_InternInPlace(&name);
  if (_PyArena_AddPyObject(checker->names.arena, name) < 0) return -1;
  while (end < size && Py_UNICODE_ISSPACE(PyUnicode_READ_CHAR(text, end))) end++;
  while (at > 0 && Py_UNICODE_ISSPACE(PyUnicode_READ_CHAR(text, at - 1))) at--;
  Py_UCS4 before = at == 0 ? ' ' : PyUnicode_READ_CHAR(text, at - 1);
  Py_UCS4 after = end == size ? ' ' : PyUnicode_READ_CHAR(text, end);
  if (before == '@' && (after == '.' || after == '(')) {
    return Refuse(checker, "attribute", place, "put the value into a variable of its own",
                  "attributes and calls of @%.80U are not allowed", name);
  }
  return before == '.' || IsDunder(name) ? CheckAttributeName(checker, place, NULL, name) : 0;
}

static int CheckQueryText(Checker* checker, expr_ty place, PyObject* text) {
  for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++) {
    int starts = IsWord(PyUnicode_READ_CHAR(text, i)) &&
                 (i == 0 || !IsWord(PyUnicode_READ_CHAR(text, i - 1)));
    if (starts && CheckWord(checker, place, text, i) < 0) return -1;
  }
  return 0;
}

// df.query(text), df.eval(text): pandas evaluates the text, with the variables of the code.
static int CheckQuery(Checker* checker, expr_ty call) {
  asdl_expr_seq* args = call->v.Call.args;
  expr_ty text = asdl_seq_LEN(args) > 0 ? asdl_seq_GET(args, 0) : NULL;
  if (text != NULL && text->kind == Constant_kind && PyUnicode_CheckExact(text->v.Constant.value)) {
    return CheckQueryText(checker, call, text->v.Constant.value);
  }
  return Refuse(checker, "attribute", call,
                "write the text as a literal, with @name for a variable: df.query('a > @n')",
                "it cannot be told what %.80U() evaluates", call->v.Call.func->v.Attribute.attr);
}

// numpy.

static int IsFalse(expr_ty expr) {
  return expr->kind == Constant_kind && expr->v.Constant.value == Py_False;
}

// Returns the position of the argument allow_pickle if `name` is a function of numpy that
// unpickles; otherwise -1.
static Py_ssize_t PickleArgument(PyObject* name) {
  static const struct {
    const char* name;
    Py_ssize_t place;
  } unpicklers[] = {{"load", 2}, {"read_array", 1}, {"NpzFile", 3}};
  for (size_t i = 0; i < sizeof unpicklers / sizeof unpicklers[0]; i++) {
    if (_PyUnicode_EqualToASCIIString(name, unpicklers[i].name)) return unpicklers[i].place;
  }
  return -1;
}

// numpy offers each of them in several places.
static int IsInNumpy(PyObject* path) {
  PyObject* top = TopLevelName(path);
  int is_in = top != NULL && _PyUnicode_EqualToASCIIString(top, "numpy");
  Py_XDECREF(top);
  return is_in;
}

int CheckUnpickler(Checker* checker, int line, int offset, PyObject* module, PyObject* name) {
  if (PickleArgument(name) < 0 || !IsInNumpy(module)) return PyErr_Occurred() ? -1 : 0;
  return FindingAdd(checker->findings, "attribute", line, offset,
                    "call it where it stands, by its path: np.load(file)",
                    "%.80U.%.80U, which can run code that a file has, is used as a value", module,
                    name);
}

int CheckUncalled(Checker* checker, expr_ty place, expr_ty receiver, PyObject* name) {
  if (checker->modules.native_packages == NULL || PickleArgument(name) < 0) return 0;
  PyObject* path = PathOf(checker, receiver);
  if (path == NULL) return PyErr_Occurred() ? -1 : 0;
  return CheckUnpickler(checker, place->lineno, place->col_offset, path, name);
}

// Returns the position of the callee's argument allow_pickle; otherwise -1.
static Py_ssize_t PickleArgumentOf(Checker* checker, expr_ty func) {
  PyObject* path = PathOf(checker, func);
  if (path == NULL || !IsInNumpy(path)) return -1;
  Py_ssize_t size = PyUnicode_GET_LENGTH(path);
  Py_ssize_t dot = PyUnicode_FindChar(path, '.', 0, size, -1);
  PyObject* name = KeepPath(checker, PyUnicode_Substring(path, dot + 1, size));
  return name == NULL ? -1 : PickleArgument(name);
}

static int AllowsPickle(Checker* checker, expr_ty call) {
  asdl_keyword_seq* keywords = call->v.Call.keywords;
  Py_ssize_t place = PickleArgumentOf(checker, call->v.Call.func);
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(keywords); i++) {
    keyword_ty keyword = asdl_seq_GET(keywords, i);
    if (keyword->arg == allow_pickle_name && !IsFalse(keyword->value)) return 1;
    if (keyword->arg == NULL && place >= 0) return 1;
  }
  asdl_expr_seq* args = call->v.Call.args;
  for (Py_ssize_t i = 0; i <= place && i < asdl_seq_LEN(args); i++) {
    expr_ty arg = asdl_seq_GET(args, i);
    if (arg->kind == Starred_kind || (i == place && !IsFalse(arg))) return 1;
  }
  return 0;
}

int CheckPackageCall(Checker* checker, expr_ty call) {
  expr_ty func = call->v.Call.func;
  if (checker->modules.native_packages == NULL) return 0;
  PyObject* method = func->kind == Attribute_kind ? func->v.Attribute.attr : NULL;
  if (method != NULL && IsEvaluator(checker, method) && CheckQuery(checker, call) < 0) return -1;
  if (!AllowsPickle(checker, call)) return PyErr_Occurred() ? -1 : 0;
  return Refuse(checker, "attribute", call, "leave allow_pickle out: arrays of numbers need none",
                "%.80U runs code that the file has", allow_pickle_name);
}
