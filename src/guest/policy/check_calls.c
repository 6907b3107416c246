#include "guest/policy/checker.h"
#include "guest/policy/declare.h"

static PyObject* dict_name;
static PyObject* format_name;
static PyObject* format_map_name;
static PyObject* super_name;
static PyObject* str_name;
static PyObject* type_name;
static PyObject* setattr_method;
static PyObject* delattr_method;

static int Intern(PyObject** slot, const char* text) {
  *slot = PyUnicode_InternFromString(text);
  return *slot == NULL ? -1 : 0;
}

int CheckCallsStart(void) {
  return Intern(&dict_name, "__dict__") < 0 || Intern(&format_name, "format") < 0 ||
                 Intern(&format_map_name, "format_map") < 0 || Intern(&super_name, "super") < 0 ||
                 Intern(&str_name, "str") < 0 || Intern(&type_name, "type") < 0 ||
                 Intern(&setattr_method, "__setattr__") < 0 ||
                 Intern(&delattr_method, "__delattr__") < 0
             ? -1
             : 0;
}

int IsFormatMethod(PyObject* name) {
  return name == format_name || name == format_map_name;
}

// Returns `text` interned, as names in the tree are. Borrowed from the arena; null if there is no
// memory.
static PyObject* AsName(Checker* checker, PyObject* text) {
  PyObject* name = Py_NewRef(text);
  PyUnicode_InternInPlace(&name);
  return _PyArena_AddPyObject(checker->names.arena, name) < 0 ? NULL : name;
}

static PyObject* LiteralText(asdl_expr_seq* args, Py_ssize_t index) {
  for (Py_ssize_t i = 0; i <= index && i < asdl_seq_LEN(args); i++) {
    expr_ty arg = asdl_seq_GET(args, i);
    if (arg->kind == Starred_kind) return NULL;
    if (i < index || arg->kind != Constant_kind) continue;
    PyObject* value = arg->v.Constant.value;
    return PyUnicode_CheckExact(value) && PyUnicode_GET_LENGTH(value) > 0 ? value : NULL;
  }
  return NULL;
}

// Templates.

static int IsFieldEnd(Py_UCS4 c) {
  return c == '.' || c == '[' || c == '!' || c == ':' || c == '{' || c == '}';
}

// Checks the attributes that one field reads, from after its opening brace.
static int CheckField(Checker* checker, expr_ty place, PyObject* text, Py_ssize_t at) {
  Py_ssize_t size = PyUnicode_GET_LENGTH(text);
  while (at < size && !IsFieldEnd(PyUnicode_READ_CHAR(text, at))) at++;
  while (at < size) {
    Py_UCS4 c = PyUnicode_READ_CHAR(text, at++);
    Py_ssize_t start = at;
    if (c == '[') {
      while (at < size && PyUnicode_READ_CHAR(text, at) != ']') at++;
      at++;
      continue;
    }
    if (c != '.') return 0;
    while (at < size && !IsFieldEnd(PyUnicode_READ_CHAR(text, at))) at++;
    PyObject* part = at > start ? PyUnicode_Substring(text, start, at) : NULL;
    if (part == NULL) return PyErr_Occurred() ? -1 : 0;
    PyObject* name = AsName(checker, part);
    Py_DECREF(part);
    if (name == NULL || CheckAttributeName(checker, place, NULL, name) < 0) return -1;
  }
  return 0;
}

// Every brace may open a field, also "{{", so that the rules of the format language need not be
// known.
static int CheckFields(Checker* checker, expr_ty place, PyObject* text) {
  for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++) {
    if (PyUnicode_READ_CHAR(text, i) == '{' && CheckField(checker, place, text, i + 1) < 0) {
      return -1;
    }
  }
  return 0;
}

// Returns the binding that `name` has in the current scope, if it can have no other.
static Binding* OnlyBinding(Checker* checker, PyObject* name) {
  Names* names = &checker->names;
  if (FindBinding(names, &names->nonlocals, name) != NULL) return NULL;
  for (Scope* at = names->current; at != NULL; at = at->parent) {
    Binding* binding = FindBinding(names, at, name);
    if (binding == NULL) continue;
    if (at->kind == kClassScope) return NULL;
    return binding->is_global ? FindBinding(names, &names->module, name) : binding;
  }
  return NULL;
}

static int RefuseTemplate(Checker* checker, expr_ty place) {
  return FindingAdd(checker->findings, "format", place->lineno, place->col_offset,
                    "use an f-string, or call format on the string literal itself",
                    "it cannot be told which attributes this text makes format() read");
}

int CheckTemplate(Checker* checker, expr_ty place, expr_ty text) {
  if (text->kind == Constant_kind) {
    PyObject* value = text->v.Constant.value;
    return PyUnicode_CheckExact(value) ? CheckFields(checker, place, value) : 0;
  }
  if (text->kind == IfExp_kind) {
    return CheckTemplate(checker, place, text->v.IfExp.body) < 0
               ? -1
               : CheckTemplate(checker, place, text->v.IfExp.orelse);
  }
  if (text->kind == BinOp_kind) {
    PyObject* joined = LiteralTextOf(text, checker->names.arena);
    if (joined != NULL) return CheckFields(checker, place, joined);
    return PyErr_Occurred() ? -1 : RefuseTemplate(checker, place);
  }
  Binding* binding = text->kind == Name_kind ? OnlyBinding(checker, text->v.Name.id) : NULL;
  if (binding == NULL || binding->things == NULL) return RefuseTemplate(checker, place);
  for (Thing* thing = binding->things; thing != NULL; thing = thing->next) {
    if (thing->kind != kText) return RefuseTemplate(checker, place);
  }
  for (Thing* thing = binding->things; thing != NULL; thing = thing->next) {
    if (CheckFields(checker, place, thing->name) < 0) return -1;
  }
  return 0;
}

// `text.format(...)`, `str.format(text, ...)`; without arguments there is nothing to read from.
static int CheckFormatCall(Checker* checker, expr_ty call) {
  expr_ty func = call->v.Call.func, text = func->v.Attribute.value;
  asdl_expr_seq* args = call->v.Call.args;
  if (asdl_seq_LEN(args) == 0 && asdl_seq_LEN(call->v.Call.keywords) == 0) return 0;
  Possible receiver = {.count = 0};
  if (Evaluate(checker, checker->names.current, text, &receiver, 0) < 0) return -1;
  if (receiver.builtin == str_name && asdl_seq_LEN(args) > 0) text = asdl_seq_GET(args, 0);
  return CheckTemplate(checker, func, text);
}

// Attributes by name.

static int RefuseComputed(Checker* checker, expr_ty call, PyObject* function) {
  return Refuse(checker, "attribute", call,
                "write the attribute's name as a literal; for names that vary, use a dict",
                "%.80U needs the attribute's name as a literal", function);
}

// getattr(x, "name") and similar functions.
static int CheckNamedAccess(Checker* checker, expr_ty call, PyObject* function) {
  asdl_expr_seq* args = call->v.Call.args;
  PyObject* text = asdl_seq_LEN(call->v.Call.keywords) > 0 ? NULL : LiteralText(args, 1);
  if (text == NULL) return RefuseComputed(checker, call, function);
  PyObject* name = AsName(checker, text);
  if (name == NULL) return -1;
  expr_ty receiver = asdl_seq_GET(args, 0);
  if (IsFormatMethod(name)) return CheckTemplate(checker, call, receiver);
  if (name == dict_name) return CheckAttributeName(checker, call, NULL, name);
  int is_read = PyUnicode_READ_CHAR(function, 0) == 'g';
  if (is_read && (CheckEvaluator(checker, call, name) < 0 ||
                  CheckUncalled(checker, call, receiver, name) < 0)) {
    return -1;
  }
  Possible owner = {.count = 0}, result = {.count = 0};
  if (Evaluate(checker, checker->names.current, receiver, &owner, 0) < 0 ||
      CheckMembers(checker, call, receiver, &owner, name, &result) < 0) {
    return -1;
  }
  checker->excused[0] = receiver;
  int is_change = !is_read && PyUnicode_READ_CHAR(function, 0) != 'h';
  if ((is_change && owner.count > 0) || (is_read && result.count > 0) || owner.too_many) {
    return Refuse(checker, "module", call, "write it with a dot", "%.80U is used on a module",
                  function);
  }
  return 0;
}

static int CheckDotted(Checker* checker, expr_ty place, PyObject* text) {
  PyObject* dot = PyUnicode_InternFromString(".");
  PyObject* parts = dot == NULL ? NULL : PyUnicode_Split(text, dot, -1);
  Py_XDECREF(dot);
  int status = parts == NULL ? -1 : 0;
  for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(parts); i++) {
    PyObject* name = AsName(checker, PyList_GET_ITEM(parts, i));
    if (name == NULL) {
      status = -1;
    } else if (IsFormatMethod(name)) {
      status = RefuseTemplate(checker, place);
    } else if (PyUnicode_GET_LENGTH(name) > 0) {
      status = CheckAttributeName(checker, place, NULL, name);
      if (status == 0) status = CheckEvaluator(checker, place, name);
    }
  }
  Py_XDECREF(parts);
  return status;
}

// operator.attrgetter("a.b", "c"), operator.methodcaller("name", ...).
static int CheckGetter(Checker* checker, expr_ty call, PyObject* function) {
  asdl_expr_seq* args = call->v.Call.args;
  int is_caller = _PyUnicode_EqualToASCIIString(function, "operator.methodcaller");
  Py_ssize_t count = is_caller ? 1 : asdl_seq_LEN(args);
  if (count == 0) return RefuseComputed(checker, call, function);
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* text = LiteralText(args, i);
    if (text == NULL) return RefuseComputed(checker, call, function);
    if (CheckDotted(checker, call, text) < 0) return -1;
  }
  return 0;
}

// functools.wraps(f), or with the names of attributes as literals: assigned=("__doc__",).
static int CheckWrapper(Checker* checker, expr_ty call, PyObject* function) {
  Py_ssize_t most = _PyUnicode_EqualToASCIIString(function, "functools.wraps") ? 1 : 2;
  asdl_expr_seq* args = call->v.Call.args;
  int literal = asdl_seq_LEN(args) <= most;
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(args); i++) {
    literal &= asdl_seq_GET(args, i)->kind != Starred_kind;
  }
  for (Py_ssize_t i = 0; literal && i < asdl_seq_LEN(call->v.Call.keywords); i++) {
    keyword_ty given = asdl_seq_GET(call->v.Call.keywords, i);
    literal = given->arg != NULL && given->value->kind == Tuple_kind;
    asdl_expr_seq* names = literal ? given->value->v.Tuple.elts : NULL;
    for (Py_ssize_t j = 0; literal && j < asdl_seq_LEN(names); j++) {
      PyObject* text = LiteralText(names, j);
      literal = text != NULL;
      PyObject* name = literal ? AsName(checker, text) : NULL;
      if (literal && (name == NULL || CheckAttributeName(checker, call, NULL, name) < 0)) return -1;
    }
  }
  return literal ? 0 : RefuseComputed(checker, call, function);
}

// super().__setattr__(name, value) can only change the object itself; object.__setattr__(x, ...) is
// setattr, and so is super(A, x).__setattr__(...).
static int CheckSetattrMethod(Checker* checker, expr_ty call) {
  expr_ty func = call->v.Call.func, receiver = func->v.Attribute.value;
  Possible ignored = {.count = 0}, maker = {.count = 0};
  if (CheckOperand(checker, receiver, &ignored) < 0) return -1;
  if (receiver->kind == Call_kind &&
      Evaluate(checker, checker->names.current, receiver->v.Call.func, &maker, 0) < 0) {
    return -1;
  }
  if (maker.builtin == super_name) {
    return asdl_seq_LEN(receiver->v.Call.args) == 0
               ? 0
               : Refuse(checker, "attribute", call, "write super() without arguments",
                        "%.80U of super() with arguments is not allowed", func->v.Attribute.attr);
  }
  PyObject* text = LiteralText(call->v.Call.args, 1);
  if (text == NULL) return RefuseComputed(checker, call, func->v.Attribute.attr);
  PyObject* name = AsName(checker, text);
  return name == NULL ? -1 : CheckAttributeName(checker, call, NULL, name);
}

// xml.sax.make_parser(names) imports modules by these names.
static int CheckMaker(Checker* checker, expr_ty call, PyObject* function) {
  if (asdl_seq_LEN(call->v.Call.args) + asdl_seq_LEN(call->v.Call.keywords) == 0) return 0;
  return Refuse(checker, "attribute", call, "call it without arguments",
                "%.80U imports modules by the names it is given", function);
}

static int CheckSpecial(Checker* checker, expr_ty call, PyObject* function) {
  switch (PyUnicode_READ_CHAR(function, 0)) {
    case 'f':  // functools
      return CheckWrapper(checker, call, function);
    case 'x':  // xml.sax
      return CheckMaker(checker, call, function);
    default:
      return CheckGetter(checker, call, function);
  }
}

int CheckCall(Checker* checker, expr_ty call) {
  expr_ty func = call->v.Call.func;
  PyObject* method = func->kind == Attribute_kind ? func->v.Attribute.attr : NULL;
  if (method != NULL && (method == setattr_method || method == delattr_method)) {
    int status = CheckSetattrMethod(checker, call);
    checker->done = func;
    return status;
  }
  if (method != NULL && IsFormatMethod(method)) {
    checker->formatting = func;
    if (CheckFormatCall(checker, call) < 0) return -1;
  }
  Possible callee = {.count = 0};
  checker->called = func;
  if (CheckOperand(checker, func, &callee) < 0 || CheckPackageCall(checker, call) < 0) return -1;
  checker->done = func;
  if (callee.too_many) {
    return FindingAdd(checker->findings, "module", call->lineno, call->col_offset,
                      "use the module by one name", "it cannot be told what is called here");
  }
  for (int i = 0; i < callee.count; i++) {
    if (callee.of[i].kind != kSpecial) continue;
    if (CheckSpecial(checker, call, callee.of[i].name) < 0) return -1;
  }
  if (callee.builtin == NULL) return 0;
  if (TakesAttributeName(callee.builtin)) return CheckNamedAccess(checker, call, callee.builtin);
  if (callee.builtin != type_name) return 0;
  asdl_expr_seq* args = call->v.Call.args;
  int asks = asdl_seq_LEN(args) == 1 && asdl_seq_GET(args, 0)->kind != Starred_kind &&
             asdl_seq_LEN(call->v.Call.keywords) == 0;
  return !asks ? Refuse(checker, "builtin", call, "write a class statement",
                        "%.80U with more than one argument is not allowed", type_name)
               : 0;
}
