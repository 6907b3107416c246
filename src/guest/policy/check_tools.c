#include "guest/policy/check_tools.h"

#include <math.h>
#include <string.h>

#include "guest/bridge/tool_spec.h"
#include "guest/tree.h"

typedef struct ToolChecker {
  PyObject* described;  // dict: name -> description of the tool, encoded until it is needed.
  PyObject* bound;      // set: names of tools that the code binds to something else somewhere.
  Findings* findings;
} ToolChecker;

// One call: its arguments, as far as the text shows.
typedef struct GivenCall {
  const ToolSpec* spec;
  expr_ty call;
  PyObject* given;  // set: names of the parameters that have an argument.
  int unknown;      // There are *args or **kwargs, or a dict that is not a literal.
} GivenCall;

static int Refuse(ToolChecker* checker, const ToolSpec* spec, expr_ty place, const char* format,
                  PyObject* name) {
  Findings* findings = checker->findings;
  PyObject* signature = ToolSignature(spec);
  if (signature == NULL) return -1;
  int status =
      FindingAdd(findings, "tool", place->lineno, place->col_offset, "", format, spec->name, name);
  if (status == 0) FindingHint(findings, PyUnicode_FromFormat("call it as %U", signature));
  Py_DECREF(signature);
  return status;
}

// Literals.

// Returns the JSON name of the type of a literal, or null if it is not a literal or JSON has no
// such type.
static const char* LiteralType(expr_ty expr) {
  switch (expr->kind) {
    case Constant_kind: {
      PyObject* value = expr->v.Constant.value;
      if (value == Py_None) return "null";
      if (PyBool_Check(value)) return "boolean";
      if (PyLong_CheckExact(value)) return "integer";
      if (PyFloat_CheckExact(value)) {
        double number = PyFloat_AS_DOUBLE(value);
        return floor(number) == number ? "integer" : "number";
      }
      return PyUnicode_CheckExact(value) ? "string" : NULL;
    }
    case JoinedStr_kind:
      return "string";
    case List_kind:
    case ListComp_kind:
    case Tuple_kind:
      return "array";
    case Dict_kind:
    case DictComp_kind:
      return "object";
    default:
      return NULL;
  }
}

static int Accepts(PyObject* types, const char* type) {
  if (PyList_GET_SIZE(types) == 0) return 1;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(types); i++) {
    PyObject* accepted = PyList_GET_ITEM(types, i);
    if (!PyUnicode_CheckExact(accepted) || _PyUnicode_EqualToASCIIString(accepted, type)) return 1;
    if (_PyUnicode_EqualToASCIIString(accepted, "number") && type[0] == 'i') return 1;
  }
  return 0;
}

// Checks the inside of a literal against an annotation. The functions below return 0 if it
// certainly does not fit.

static int Fits(expr_ty type, expr_ty value);

static int FitsName(PyObject* name, const char* literal) {
  static const struct {
    const char *python, *json;
  } names[] = {{"str", "string"},   {"int", "integer"}, {"float", "number"},
               {"bool", "boolean"}, {"list", "array"},  {"dict", "object"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (!_PyUnicode_EqualToASCIIString(name, names[i].python)) continue;
    return strcmp(names[i].json, literal) == 0 ||
           (strcmp(names[i].json, "number") == 0 && strcmp(literal, "integer") == 0);
  }
  return 1;
}

static int AllFit(expr_ty type, asdl_expr_seq* values) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(values); i++) {
    if (!Fits(type, asdl_seq_GET(values, i))) return 0;
  }
  return 1;
}

// Equal numbers are the same to JSON; a bool is not a number there.
static int IsChoice(expr_ty choice, expr_ty value) {
  if (choice->kind != Constant_kind || value->kind == JoinedStr_kind) return 1;
  if (value->kind != Constant_kind) return 0;
  PyObject *one = choice->v.Constant.value, *other = value->v.Constant.value;
  int same =
      PyBool_Check(one) == PyBool_Check(other) && PyUnicode_Check(one) == PyUnicode_Check(other)
          ? PyObject_RichCompareBool(one, other, Py_EQ)
          : 0;
  if (same < 0) PyErr_Clear();
  return same != 0;
}

static int IsAnyChoice(expr_ty choices, expr_ty value) {
  if (choices->kind != Tuple_kind) return IsChoice(choices, value);
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(choices->v.Tuple.elts); i++) {
    if (IsChoice(asdl_seq_GET(choices->v.Tuple.elts, i), value)) return 1;
  }
  return 0;
}

static int FitsInside(PyObject* outer, expr_ty inner, expr_ty value);

// `**more` in a dict has no key, and is itself a dict of this kind.
static int ItemsFit(PyObject* outer, expr_ty inner, expr_ty dict) {
  expr_ty type = asdl_seq_GET(inner->v.Tuple.elts, 1);
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(dict->v.Dict.values); i++) {
    expr_ty value = asdl_seq_GET(dict->v.Dict.values, i);
    int is_more = asdl_seq_GET(dict->v.Dict.keys, i) == NULL;
    int fits =
        is_more ? LiteralType(value) == NULL || FitsInside(outer, inner, value) : Fits(type, value);
    if (!fits) return 0;
  }
  return 1;
}

// list[X], dict[str, X], Literal[...].
static int FitsInside(PyObject* outer, expr_ty inner, expr_ty value) {
  if (_PyUnicode_EqualToASCIIString(outer, "Literal")) return IsAnyChoice(inner, value);
  if (!FitsName(outer, LiteralType(value))) return 0;
  if (value->kind == List_kind || value->kind == Tuple_kind) {
    return AllFit(inner, value->v.List.elts);  // Both kinds have the same layout.
  }
  int is_dict = value->kind == Dict_kind && inner->kind == Tuple_kind &&
                asdl_seq_LEN(inner->v.Tuple.elts) == 2;
  return !is_dict || ItemsFit(outer, inner, value);
}

static int Fits(expr_ty type, expr_ty value) {
  const char* literal = LiteralType(value);
  if (literal == NULL) return 1;
  switch (type->kind) {
    case BinOp_kind:
      return Fits(type->v.BinOp.left, value) || Fits(type->v.BinOp.right, value);
    case Constant_kind:
      return type->v.Constant.value != Py_None || strcmp(literal, "null") == 0;
    case Name_kind:
      return FitsName(type->v.Name.id, literal);
    case Subscript_kind:
      return type->v.Subscript.value->kind != Name_kind ||
             FitsInside(type->v.Subscript.value->v.Name.id, type->v.Subscript.slice, value);
    default:
      return 1;
  }
}

// Returns whether `value` fits the parameter's annotation. An annotation that cannot be parsed fits
// everything.
static int FitsAnnotation(PyObject* annotation, expr_ty value) {
  const char* text = PyUnicode_AsUTF8(annotation);
  PyArena* arena = text == NULL || strchr(text, '[') == NULL ? NULL : _PyArena_New();
  PyCompilerFlags flags = _PyCompilerFlags_INIT;
  PyObject* file = arena == NULL ? NULL : PyUnicode_FromString("<annotation>");
  mod_ty tree =
      file == NULL ? NULL : _PyParser_ASTFromString(text, file, Py_eval_input, &flags, arena);
  int fits = tree == NULL || Fits(tree->v.Expression.body, value);
  if (PyErr_Occurred()) PyErr_Clear();
  Py_XDECREF(file);
  if (arena != NULL) _PyArena_Free(arena);
  return fits;
}

static int CheckLiteral(ToolChecker* checker, const GivenCall* given,
                        const ToolParameter* parameter, expr_ty value) {
  const char* type = LiteralType(value);
  if (type == NULL) return 0;
  if (Accepts(parameter->types, type) && FitsAnnotation(parameter->annotation, value)) return 0;
  return Refuse(checker, given->spec, value, "%.80U(): %.80U has a value of the wrong type",
                parameter->name);
}

// Arguments.

static int Give(ToolChecker* checker, GivenCall* given, const ToolParameter* parameter,
                expr_ty value) {
  int twice = PySet_Contains(given->given, parameter->name);
  if (twice < 0 || PySet_Add(given->given, parameter->name) < 0) return -1;
  if (twice) {
    return Refuse(checker, given->spec, value, "%.80U() gets %.80U twice", parameter->name);
  }
  return CheckLiteral(checker, given, parameter, value);
}

static int GiveByName(ToolChecker* checker, GivenCall* given, PyObject* name, expr_ty value) {
  for (Py_ssize_t i = 0; i < ToolParameterCount(given->spec); i++) {
    ToolParameter parameter = ToolParameterAt(given->spec, i);
    if (_PyUnicode_EQ(parameter.name, name)) return Give(checker, given, &parameter, value);
  }
  if (given->spec->takes_more) return 0;
  return Refuse(checker, given->spec, value, "%.80U() has no argument %.80U", name);
}

static int GiveByPlace(ToolChecker* checker, GivenCall* given, asdl_expr_seq* args) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(args); i++) {
    expr_ty arg = asdl_seq_GET(args, i);
    if (arg->kind == Starred_kind) {
      given->unknown = 1;
      return 0;
    }
    ToolParameter parameter = {.keyword_only = 1};
    if (i < ToolParameterCount(given->spec)) parameter = ToolParameterAt(given->spec, i);
    if (parameter.keyword_only) {
      return Refuse(checker, given->spec, arg, "%.80U() has too many arguments without a name",
                    NULL);
    }
    if (Give(checker, given, &parameter, arg) < 0) return -1;
  }
  return 0;
}

static int GiveKeywords(ToolChecker* checker, GivenCall* given, asdl_keyword_seq* keywords) {
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(keywords); i++) {
    keyword_ty keyword = asdl_seq_GET(keywords, i);
    if (keyword->arg == NULL) {
      given->unknown = 1;
    } else if (GiveByName(checker, given, keyword->arg, keyword->value) < 0) {
      return -1;
    }
  }
  return 0;
}

// call_tool("name", {"a": 1})
static int GiveDict(ToolChecker* checker, GivenCall* given, expr_ty dict) {
  if (dict->kind != Dict_kind) {
    given->unknown = 1;
    return 0;
  }
  for (Py_ssize_t i = 0; i < asdl_seq_LEN(dict->v.Dict.keys); i++) {
    expr_ty key = asdl_seq_GET(dict->v.Dict.keys, i);
    int literal =
        key != NULL && key->kind == Constant_kind && PyUnicode_CheckExact(key->v.Constant.value);
    if (!literal) {
      given->unknown = 1;
    } else if (GiveByName(checker, given, key->v.Constant.value,
                          asdl_seq_GET(dict->v.Dict.values, i)) < 0) {
      return -1;
    }
  }
  return 0;
}

static int CheckMissing(ToolChecker* checker, const GivenCall* given) {
  for (Py_ssize_t i = 0; !given->unknown && i < ToolParameterCount(given->spec); i++) {
    ToolParameter parameter = ToolParameterAt(given->spec, i);
    int has = parameter.presence == kRequired ? PySet_Contains(given->given, parameter.name) : 1;
    if (has < 0) return -1;
    if (!has && Refuse(checker, given->spec, given->call, "%.80U() needs the argument %.80U",
                       parameter.name) < 0) {
      return -1;
    }
  }
  return 0;
}

// Calls.

static int CheckArguments(ToolChecker* checker, GivenCall* given, int through_call_tool) {
  expr_ty call = given->call;
  asdl_expr_seq* args = call->v.Call.args;
  if (!through_call_tool) {
    if (GiveByPlace(checker, given, args) < 0) return -1;
  } else if (asdl_seq_LEN(args) > 1 && GiveDict(checker, given, asdl_seq_GET(args, 1)) < 0) {
    return -1;
  }
  return GiveKeywords(checker, given, call->v.Call.keywords) < 0 ? -1
                                                                 : CheckMissing(checker, given);
}

// Returns the name of the tool that is called through call_tool, or null.
static PyObject* CalledByName(expr_ty call) {
  asdl_expr_seq* args = call->v.Call.args;
  expr_ty first = asdl_seq_LEN(args) == 0 ? NULL : asdl_seq_GET(args, 0);
  int literal = first != NULL && first->kind == Constant_kind &&
                PyUnicode_CheckExact(first->v.Constant.value);
  return literal ? first->v.Constant.value : NULL;
}

// Such a name belongs to Python, even if the host has a tool of that name.
static int IsBuiltin(PyObject* name) {
  return PyDict_GetItemWithError(PyEval_GetBuiltins(), name) != NULL;
}

// Borrowed; null without an error if the tool has no description.
static PyObject* DescriptionOf(ToolChecker* checker, PyObject* name) {
  PyObject* known = PyDict_GetItemWithError(checker->described, name);
  if (known == NULL || PyDict_CheckExact(known)) return known;
  PyObject* description = ToolDescription(known);
  int failed = description == NULL || PyDict_SetItem(checker->described, name, description) < 0;
  Py_XDECREF(description);
  return failed ? NULL : description;
}

static int CheckExpr(TreeVisitor* visitor, expr_ty* slot) {
  ToolChecker* checker = visitor->state;
  expr_ty call = *slot;
  if (call->kind != Call_kind || call->v.Call.func->kind != Name_kind) return kVisitChildren;
  PyObject* name = call->v.Call.func->v.Name.id;
  int bound = PySet_Contains(checker->bound, name);
  if (bound != 0) return bound < 0 ? kVisitFailed : kVisitChildren;
  int through_call_tool = _PyUnicode_EqualToASCIIString(name, "call_tool");
  if (through_call_tool) name = CalledByName(call);
  if (name == NULL || (!through_call_tool && IsBuiltin(name))) return kVisitChildren;
  PyObject* description = DescriptionOf(checker, name);
  ToolSpec spec;
  if (description == NULL) return PyErr_Occurred() ? kVisitFailed : kVisitChildren;
  if (ToolSpecRead(description, &spec) < 0) return kVisitChildren;
  GivenCall given = {.spec = &spec, .call = call, .given = PySet_New(NULL)};
  int status = given.given == NULL ? -1 : CheckArguments(checker, &given, through_call_tool);
  Py_XDECREF(given.given);
  return status < 0 ? kVisitFailed : kVisitChildren;
}

// A name that the code binds anywhere may not mean the tool where it is called.
static int NoteBound(TreeVisitor* visitor, PyObject* name) {
  return PySet_Add(((ToolChecker*)visitor->state)->bound, name);
}

static int NoteStored(TreeVisitor* visitor, expr_ty* slot) {
  expr_ty expr = *slot;
  if (expr->kind != Name_kind || expr->v.Name.ctx == Load) return kVisitChildren;
  return NoteBound(visitor, expr->v.Name.id) < 0 ? kVisitFailed : kVisitChildren;
}

static PyObject* DescribedTools(PyObject* tools) {
  PyObject* described = PyDict_New();
  for (Py_ssize_t i = 0; described != NULL && i < PyList_GET_SIZE(tools); i++) {
    PyObject* entry = PyList_GET_ITEM(tools, i);
    PyObject* encoded = ToolEncoded(entry);
    if (encoded == NULL) continue;
    if (PyDict_SetItem(described, ToolName(entry), encoded) < 0) Py_CLEAR(described);
  }
  return described;
}

int CheckToolCalls(mod_ty tree, PyObject* tools, Findings* findings) {
  if (tools == NULL || PyList_GET_SIZE(tools) == 0) return 0;
  ToolChecker checker = {
      .described = DescribedTools(tools), .bound = PySet_New(NULL), .findings = findings};
  int status = checker.described == NULL || checker.bound == NULL ? -1 : 0;
  if (status == 0 && PyDict_GET_SIZE(checker.described) > 0) {
    TreeVisitor bindings = {.expr = NoteStored, .bind = NoteBound, .state = &checker};
    TreeVisitor calls = {.expr = CheckExpr, .state = &checker};
    status = VisitStmts(&bindings, tree->v.Module.body);
    if (status == 0) status = VisitStmts(&calls, tree->v.Module.body);
  }
  Py_XDECREF(checker.described);
  Py_XDECREF(checker.bound);
  return status;
}
