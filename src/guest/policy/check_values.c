#include "guest/bridge/tool_spec.h"
#include "guest/hooks.h"
#include "guest/policy/checker.h"
#include "guest/policy/own_attributes.h"

static PyObject* dict_name;
static PyObject* os_path_name;
static PyObject* by_name[4];
static PyObject* builtin_names;  // The builtins' own dict.

int CheckValuesStart(void) {
  const struct {
    PyObject** slot;
    const char* text;
  } names[] = {
      {&by_name[0], "getattr"}, {&by_name[1], "setattr"}, {&by_name[2], "hasattr"},
      {&by_name[3], "delattr"}, {&dict_name, "__dict__"}, {&os_path_name, "os.path"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    *names[i].slot = PyUnicode_InternFromString(names[i].text);
    if (*names[i].slot == NULL) return -1;
  }
  builtin_names = Py_XNewRef(PyEval_GetBuiltins());
  return builtin_names == NULL ? -1 : 0;
}

int TakesAttributeName(PyObject* builtin) {
  return builtin == by_name[0] || builtin == by_name[1] || builtin == by_name[2] ||
         builtin == by_name[3];
}

static int StartsWithTwo(PyObject* name) {
  return PyUnicode_GET_LENGTH(name) > 2 && PyUnicode_READ_CHAR(name, 0) == '_' &&
         PyUnicode_READ_CHAR(name, 1) == '_';
}

static int EndsWithTwo(PyObject* name) {
  Py_ssize_t size = PyUnicode_GET_LENGTH(name);
  return size > 2 && PyUnicode_READ_CHAR(name, size - 1) == '_' &&
         PyUnicode_READ_CHAR(name, size - 2) == '_';
}

int IsDunder(PyObject* name) {
  return StartsWithTwo(name) && EndsWithTwo(name);
}

int IsMangled(const Checker* checker, PyObject* name) {
  return checker->classes > 0 && StartsWithTwo(name) && !EndsWithTwo(name);
}

int Refuse(Checker* checker, const char* rule, expr_ty place, const char* hint, const char* format,
           PyObject* name) {
  return FindingAdd(checker->findings, rule, place->lineno, place->col_offset, hint, format, name);
}

static void AddPossible(Possible* possible, ThingKind kind, PyObject* name) {
  for (int i = 0; i < possible->count; i++) {
    if (possible->of[i].kind == kind && _PyUnicode_EQ(possible->of[i].name, name)) return;
  }
  if (possible->count == kMaxPossible) {
    possible->too_many = 1;
    return;
  }
  possible->of[possible->count].kind = kind;
  possible->of[possible->count++].name = name;
}

// How far the lookup of a name goes before something binds it.
typedef enum Reach {
  kBound,       // It ends at a binding.
  kMaybeBound,  // It ends at a binding that may not have happened; the builtin may be meant.
  kFree,        // Nothing in the code binds it.
} Reach;

static int AddThings(Checker* checker, Binding* binding, Possible* possible, int depth) {
  if (binding->is_followed) return 0;
  binding->is_followed = 1;
  int status = 0;
  for (Thing* thing = binding->things; thing != NULL && status == 0; thing = thing->next) {
    if (thing->kind == kModule || thing->kind == kSpecial) {
      AddPossible(possible, thing->kind, thing->name);
    } else if (thing->kind == kSame) {
      status = Evaluate(checker, thing->scope, thing->expr, possible, depth + 1);
    }
  }
  binding->is_followed = 0;
  return status;
}

// Python's rules: a local of a function is nothing else; a name bound in a class body hides an
// outer one only once it is bound; other scopes do not see names of class bodies.
static int Collect(Checker* checker, Scope* scope, PyObject* name, expr_ty place,
                   Possible* possible, Reach* reach, int depth) {
  Names* names = &checker->names;
  *reach = kFree;
  for (Scope* at = scope; at != NULL; at = at->parent) {
    Binding* binding = at != scope && at->kind == kClassScope ? NULL : FindBinding(names, at, name);
    if (binding == NULL || binding->is_nonlocal) continue;
    if (binding->is_global) {
      at = &names->module;
      binding = FindBinding(names, at, name);
      if (binding == NULL) return 0;
    }
    if (AddThings(checker, binding, possible, depth) < 0) return -1;
    int sure = at->kind == kFunctionScope || at->kind == kComprehensionScope ||
               IsSureAt(binding, place->lineno, place->col_offset);
    *reach = sure ? kBound : kMaybeBound;
    if (sure || at->kind == kModuleScope) return 0;
  }
  return 0;
}

static int IsTool(const Checker* checker, PyObject* name) {
  PyObject* tools = checker->options->tools;
  for (Py_ssize_t i = 0; tools != NULL && i < PyList_GET_SIZE(tools); i++) {
    PyObject* entry = PyList_GET_ITEM(tools, i);
    PyObject* tool = ToolName(entry);
    if (tool != NULL && _PyUnicode_EQ(tool, name)) return ToolIsFunction(entry);
  }
  return 0;
}

// Returns the name under which a loaded module is imported; os.path has another __name__.
static PyObject* NameOfModule(PyObject* module, PyObject* otherwise) {
  PyObject* own = PyDict_GetItemString(PyModule_GetDict(module), "__name__");
  if (PyDict_GetItemWithError(PyImport_GetModuleDict(), os_path_name) == module) {
    return os_path_name;
  }
  return own != NULL && PyUnicode_CheckExact(own) ? own : otherwise;
}

// Adds the value that an earlier piece of a session left under that name. Returns 1 if there is
// one.
static int AddGlobal(PyObject* name, Possible* possible) {
  PyObject* value = IsDunder(name) ? NULL : PyDict_GetItemWithError(hooks.main_globals, name);
  if (value == NULL) return 0;
  if (PyModule_Check(value)) {
    possible->left = NameOfModule(value, name);
    AddPossible(possible, kModule, possible->left);
  } else {
    PyObject* special = SpecialName(value);
    if (special != NULL) AddPossible(possible, kSpecial, special);
  }
  return 1;
}

static int ResolveName(Checker* checker, Scope* scope, expr_ty expr, Possible* possible,
                       Reach* reach, int depth) {
  PyObject* name = expr->v.Name.id;
  if (Collect(checker, scope, name, expr, possible, reach, depth) < 0) return -1;
  if (*reach == kBound) return 0;
  int is_left = AddGlobal(name, possible);
  if (is_left && *reach == kFree) {
    *reach = kBound;
  } else if (PyDict_GetItemWithError(builtin_names, name) != NULL) {
    possible->builtin = name;
  }
  return 0;
}

int Evaluate(Checker* checker, Scope* scope, expr_ty expr, Possible* possible, int depth) {
  if (depth > kMaxAliasDepth || ++checker->steps > kMaxAliasSteps) {
    possible->too_many = 1;
    return 0;
  }
  Reach reach;
  if (expr->kind == Name_kind) {
    return ResolveName(checker, scope, expr, possible, &reach, depth);
  }
  if (expr->kind != Attribute_kind) return 0;
  Possible owner = {.count = 0};
  if (Evaluate(checker, scope, expr->v.Attribute.value, &owner, depth + 1) < 0) return -1;
  possible->too_many |= owner.too_many;
  for (int i = 0; i < owner.count; i++) {
    Member member;
    if (owner.of[i].kind != kModule) continue;
    if (LookUpMember(&checker->modules, owner.of[i].name, expr->v.Attribute.attr, &member) < 0) {
      return -1;
    }
    if (member.kind == kModuleMember) AddPossible(possible, kModule, member.name);
    if (member.kind == kSpecialMember) AddPossible(possible, kSpecial, member.name);
  }
  return 0;
}

static int CheckBuiltin(Checker* checker, expr_ty expr, Reach reach) {
  PyObject* name = expr->v.Name.id;
  if (LookUp(checker->rules->builtins, name) == kAllowed) return 0;
  int is_builtin = PyDict_GetItemWithError(builtin_names, name) != NULL;
  int is_internal = IsDunder(name) &&
                    (reach == kFree || PyDict_GetItemWithError(hooks.main_globals, name) != NULL);
  if (!is_builtin && !is_internal) return 0;
  if (reach == kFree && IsTool(checker, name)) return 0;
  if (reach == kMaybeBound) {
    return Refuse(checker, "builtin", expr, "give your own variable or function another name",
                  "%.80U may be the builtin here, which is not allowed", name);
  }
  return Refuse(checker, "builtin", expr,
                HintFor(caisson_builtin_hints, name, "write it without this builtin"),
                "the builtin %.80U is not allowed", name);
}

static int CheckName(Checker* checker, expr_ty expr, Possible* possible) {
  Reach reach;
  PyObject* name = expr->v.Name.id;
  if (IsMangled(checker, name)) {
    return Refuse(checker, "name", expr, "write the name with one underscore",
                  "in a class, %.80U is another name than it seems", name);
  }
  if (ResolveName(checker, checker->names.current, expr, possible, &reach, 0) < 0) return -1;
  if (possible->left != NULL && ModuleVerdict(&checker->modules, possible->left) != kAllowed) {
    return Refuse(checker, "module", expr, "use the modules that are allowed",
                  "the module %.80U is not allowed", possible->left);
  }
  return reach == kBound ? 0 : CheckBuiltin(checker, expr, reach);
}

// `x.__dict__` may be shown for an object of the code. The dict of one of Python's own classes
// holds everything that the check protects.
static int MayShowDict(Checker* checker, expr_ty receiver) {
  Possible what = {.count = 0};
  expr_ty named = receiver->kind == Call_kind ? receiver->v.Call.func : receiver;
  if (named->kind == Name_kind && Evaluate(checker, checker->names.current, named, &what, 0) < 0) {
    return -1;
  }
  if (named->kind == Attribute_kind && IsDunder(named->v.Attribute.attr)) return 0;
  return what.builtin == NULL && !what.too_many && what.count == 0;
}

// `except E as e: e.obj`.
static int IsCaught(const Checker* checker, expr_ty receiver) {
  if (receiver->kind != Name_kind) return 0;
  for (Scope* at = checker->names.current; at != NULL; at = at->parent) {
    Binding* binding = FindBinding(&checker->names, at, receiver->v.Name.id);
    if (binding != NULL && binding->is_caught) return 1;
  }
  return 0;
}

int CheckAttributeName(Checker* checker, expr_ty place, expr_ty receiver, PyObject* name) {
  Verdict verdict = LookUp(checker->rules->attributes, name);
  if (verdict == kUnlisted && !IsDunder(name)) return 0;
  // With a dot, it is checked at run time.
  int with_dot = receiver != NULL && place->kind == Attribute_kind;
  if (verdict == kRefused && with_dot && IsOwnAttribute(name) && !IsCaught(checker, receiver)) {
    return 0;
  }
  if (verdict == kAllowed && name == dict_name) {
    int may = receiver == NULL ? 0 : MayShowDict(checker, receiver);
    if (may != 0) return may < 0 ? -1 : 0;
    return Refuse(checker, "attribute", place, "use __dict__ on objects of your own classes only",
                  "the attribute %.80U is not allowed here", name);
  }
  if (verdict == kAllowed) return 0;
  const CaissonRefusal* hints =
      verdict == kRefused ? caisson_refused_attributes : caisson_attribute_hints;
  return Refuse(checker, "attribute", place,
                HintFor(hints, name, "write it without this attribute"),
                "the attribute %.80U is not allowed", name);
}

int RefuseMember(Checker* checker, int line, int offset, PyObject* module, PyObject* name,
                 const Member* member) {
  Findings* findings = checker->findings;
  switch (member->kind) {
    case kRefusedMember:
      return FindingAdd(findings, "attribute", line, offset, member->hint,
                        "%.80U.%.80U is not allowed", module, name);
    case kForeignMember:
      return FindingAdd(findings, "attribute", line, offset,
                        HintFor(caisson_import_hints, member->name, "leave it out"),
                        "%.80U.%.80U reaches the module %.80U, which is not allowed", module, name,
                        member->name);
    case kPrivateMember:
      return FindingAdd(findings, "attribute", line, offset, "use what the module offers publicly",
                        "%.80U.%.80U is private to the module", module, name);
    case kMissingMember:
      return FindingAdd(findings, "attribute", line, offset,
                        "use what Python 3.11 has under this module",
                        "the module %.80U has no %.80U", module, name);
    default:
      return 0;
  }
}

int CheckMembers(Checker* checker, expr_ty place, expr_ty receiver, const Possible* of,
                 PyObject* name, Possible* result) {
  int modules = 0;
  for (int i = 0; i < of->count; i++) {
    Member member;
    if (of->of[i].kind != kModule) continue;
    if (LookUpMember(&checker->modules, of->of[i].name, name, &member) < 0) return -1;
    modules += member.kind != kUnknownMember;
    // hasattr(math, "cbrt") is the way to ask.
    if (member.kind == kMissingMember && place->kind == Call_kind) continue;
    if (member.kind == kModuleMember) AddPossible(result, kModule, member.name);
    if (member.kind == kSpecialMember) AddPossible(result, kSpecial, member.name);
    if (RefuseMember(checker, place->lineno, place->col_offset, of->of[i].name, name, &member) <
        0) {
      return -1;
    }
  }
  // A name that no module may have is checked as an attribute of an unknown object as well.
  return modules > 0 ? 0 : CheckAttributeName(checker, place, receiver, name);
}

static int CheckAttribute(Checker* checker, expr_ty expr, Possible* possible) {
  PyObject* name = expr->v.Attribute.attr;
  expr_ty receiver = expr->v.Attribute.value;
  if (++checker->visitor->depth > CAISSON_MAX_TREE_DEPTH) {
    PyErr_SetString(PyExc_RecursionError, "the code is nested too deeply");
    return -1;
  }
  Possible owner = {.count = 0};
  if (CheckOperand(checker, receiver, &owner) < 0) return -1;
  checker->visitor->depth--;
  if (owner.too_many) {
    return Refuse(checker, "module", expr, "use the module by one name",
                  "it cannot be told what %.80U is an attribute of", name);
  }
  if (CheckMembers(checker, expr, receiver, &owner, name, possible) < 0) return -1;
  if (owner.count == 0 && CheckBelowPackage(checker, expr) < 0) return -1;
  if (expr->v.Attribute.ctx == Load) {
    if (expr != checker->called && CheckUncalled(checker, expr, receiver, name) < 0) return -1;
    if (!IsFormatMethod(name) || expr == checker->formatting) return 0;
    return CheckTemplate(checker, expr, receiver);
  }
  if (owner.count == 0) return 0;
  return Refuse(checker, "module", expr, "keep it in a variable of your own",
                "modules cannot be changed: %.80U", name);
}

int CheckOperand(Checker* checker, expr_ty expr, Possible* possible) {
  int is_name = expr->kind == Name_kind && expr->v.Name.ctx == Load;
  if (!is_name && expr->kind != Attribute_kind) return VisitExpr(checker->visitor, &expr);
  checker->line = expr->lineno;
  checker->offset = expr->col_offset;
  if (!(checker->rules->exprs >> expr->kind & 1)) return RefuseNode(checker, ExprName(expr));
  return is_name ? CheckName(checker, expr, possible) : CheckAttribute(checker, expr, possible);
}

int CheckValue(Checker* checker, expr_ty expr) {
  Possible possible = {.count = 0};
  if (CheckOperand(checker, expr, &possible) < 0) return -1;
  if (possible.builtin != NULL && TakesAttributeName(possible.builtin)) {
    return Refuse(checker, "builtin", expr, "call it where it stands, with the name as a literal",
                  "the builtin %.80U is used as a value", possible.builtin);
  }
  if (expr == checker->excused[0] || expr == checker->excused[1]) return 0;
  if (possible.too_many) {
    return FindingAdd(checker->findings, "module", expr->lineno, expr->col_offset,
                      "use the module by one name", "it cannot be told what this is");
  }
  if (possible.count == 0) return 0;
  int is_module = possible.of[0].kind == kModule;
  return Refuse(checker, "module", expr,
                is_module ? "use the module's functions where you need them, as in json.dumps(x)"
                          : "call it where it stands, with the names as literals",
                is_module ? "the module %.80U is used as a value" : "%.80U is used as a value",
                possible.of[0].name);
}
