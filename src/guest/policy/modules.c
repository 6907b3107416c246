#include "guest/policy/modules.h"

#include <string.h>

static PyObject* standard_names;  // sys.stdlib_module_names

// Functions that access attributes or modules by name.
static const char* const specials[] = {"functools.update_wrapper", "functools.wraps",
                                       "operator.attrgetter", "operator.methodcaller",
                                       "xml.sax.make_parser"};
enum { kSpecials = sizeof specials / sizeof specials[0] };
static PyObject* special_names[kSpecials];

int ModulesStart(void) {
  for (int i = 0; i < kSpecials; i++) {
    special_names[i] = PyUnicode_InternFromString(specials[i]);
    if (special_names[i] == NULL) return -1;
  }
  standard_names = Py_XNewRef(PySys_GetObject("stdlib_module_names"));
  return standard_names == NULL ? -1 : 0;
}

PyObject* TopLevelName(PyObject* dotted) {
  Py_ssize_t size = PyUnicode_GET_LENGTH(dotted);
  Py_ssize_t dot = PyUnicode_FindChar(dotted, '.', 0, size, 1);
  PyObject* top = dot < 0 ? Py_NewRef(dotted) : PyUnicode_Substring(dotted, 0, dot);
  if (top != NULL) PyUnicode_InternInPlace(&top);
  return top;
}

static int ListHas(PyObject* list, PyObject* name) {
  for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (PyUnicode_CheckExact(item) && _PyUnicode_EQ(item, name)) return 1;
  }
  return 0;
}

Verdict ModuleVerdict(const ModulePolicy* policy, PyObject* dotted) {
  PyObject* at = Py_NewRef(dotted);
  for (;;) {
    Verdict verdict = LookUp(policy->rules->imports, at);
    Py_ssize_t dot = PyUnicode_FindChar(at, '.', 0, PyUnicode_GET_LENGTH(at), -1);
    if (verdict == kUnlisted && dot < 0 && ListHas(policy->native_packages, at)) verdict = kAllowed;
    PyObject* shorter = verdict != kUnlisted || dot < 0 ? NULL : PyUnicode_Substring(at, 0, dot);
    Py_DECREF(at);
    if (shorter == NULL) {
      if (PyErr_Occurred()) PyErr_Clear();  // Running out of memory does not allow anything.
      return verdict;
    }
    at = shorter;
  }
}

// Passes a new reference to the arena. Returns 0, or -1.
static int Keep(const ModulePolicy* policy, PyObject* name) {
  return name == NULL ? -1 : _PyArena_AddPyObject(policy->arena, name);
}

static PyObject* LoadedDict(PyObject* module) {
  PyObject* loaded = PyDict_GetItemWithError(PyImport_GetModuleDict(), module);
  return loaded != NULL && PyModule_Check(loaded) ? PyModule_GetDict(loaded) : NULL;
}

int IsStandard(PyObject* dotted) {
  PyObject* top = TopLevelName(dotted);
  int standard = top == NULL ? 0 : PySet_Contains(standard_names, top) > 0;
  Py_XDECREF(top);
  if (PyErr_Occurred()) PyErr_Clear();
  return standard;
}

void LoadStandard(const ModulePolicy* policy, PyObject* dotted) {
  if (PyDict_GetItemWithError(PyImport_GetModuleDict(), dotted) != NULL || !IsStandard(dotted) ||
      ModuleVerdict(policy, dotted) != kAllowed) {
    return;
  }
  PyObject* module = PyImport_ImportModuleLevelObject(dotted, NULL, NULL, NULL, 0);
  Py_XDECREF(module);
  if (module == NULL) PyErr_Clear();
}

// Returns the __name__ of a module, or null. Borrowed.
static PyObject* OwnName(PyObject* module) {
  PyObject* dict = PyModule_GetDict(module);
  PyObject* name = dict == NULL ? NULL : PyDict_GetItemString(dict, "__name__");
  return name != NULL && PyUnicode_CheckExact(name) ? name : NULL;
}

static int IsOs(PyObject* module) {
  return _PyUnicode_EqualToASCIIString(module, "os");
}

static int IsImported(const ModulePolicy* policy, PyObject* qualified) {
  return policy->imported != NULL && PySet_Contains(policy->imported, qualified) > 0;
}

// Looks up `name` in a loaded module.
static int LookInto(const ModulePolicy* policy, PyObject* dict, PyObject* qualified, PyObject* name,
                    Member* member) {
  PyObject* value = PyDict_GetItemWithError(dict, name);
  if (value == NULL && PyDict_GetItemString(dict, "__path__") != NULL) {
    LoadStandard(policy, qualified);  // `from xml import dom`
    value = PyDict_GetItemWithError(dict, name);
  }
  if (value == NULL) {
    // A package may get the name when a part of it is imported.
    int open = PyDict_GetItemString(dict, "__path__") != NULL ||
               PyDict_GetItemString(dict, "__getattr__") != NULL;
    member->kind = IsImported(policy, qualified) ? kModuleMember
                   : open                        ? kPlainMember
                                                 : kMissingMember;
    member->name = qualified;
    return 0;
  }
  if (!PyModule_Check(value)) {
    // An object that replaces a module, as the cell's lazy `random` does.
    int stands_in = PySet_Contains(standard_names, name) > 0 && !PyType_Check(value) &&
                    !PyFunction_Check(value) && !PyCFunction_Check(value) &&
                    ModuleVerdict(policy, name) != kAllowed;
    member->kind = stands_in ? kForeignMember : kPlainMember;
    member->name = name;
    return 0;
  }
  // os.path is known by that name, whatever its __name__ is.
  PyObject* known = PyDict_GetItemWithError(PyImport_GetModuleDict(), qualified);
  member->name = known == value ? qualified : OwnName(value);
  if (member->name == NULL) {
    member->kind = kForeignMember;
    member->name = name;
    return 0;
  }
  member->kind = ModuleVerdict(policy, member->name) == kAllowed ? kModuleMember : kForeignMember;
  return 0;
}

// All that is known of a module that is not loaded: a standard module uses another module's name
// only to hold that module.
static int Guess(const ModulePolicy* policy, PyObject* module, PyObject* qualified, PyObject* name,
                 Member* member) {
  if (IsImported(policy, qualified)) {
    *member = (Member){.kind = kModuleMember, .name = qualified};
    return 0;
  }
  int foreign = IsStandard(module) && PySet_Contains(standard_names, name) > 0 &&
                ModuleVerdict(policy, name) != kAllowed;
  member->kind = foreign ? kForeignMember : kPlainMember;
  member->name = name;
  return 0;
}

PyObject* LoadedMember(const ModulePolicy* policy, PyObject* dotted) {
  Py_ssize_t size = PyUnicode_GET_LENGTH(dotted);
  Py_ssize_t dot = PyUnicode_FindChar(dotted, '.', 0, size, -1);
  PyObject* module = PyUnicode_Substring(dotted, 0, dot < 0 ? 0 : dot);
  PyObject* name = module == NULL ? NULL : PyUnicode_Substring(dotted, dot + 1, size);
  if (name != NULL) LoadStandard(policy, module);
  PyObject* dict = name == NULL ? NULL : LoadedDict(module);
  PyObject* value = dict == NULL ? NULL : PyDict_GetItemWithError(dict, name);
  Py_XDECREF(module);
  Py_XDECREF(name);
  return value;
}

static int IsSpecial(PyObject* qualified) {
  for (int i = 0; i < kSpecials; i++) {
    if (_PyUnicode_EQ(qualified, special_names[i])) return 1;
  }
  return 0;
}

PyObject* SpecialName(PyObject* value) {
  for (int i = 0; i < kSpecials; i++) {
    const char* name = strrchr(specials[i], '.');
    PyObject* module = PyUnicode_Substring(special_names[i], 0, name - specials[i]);
    PyObject* dict = module == NULL ? NULL : LoadedDict(module);
    int same = dict != NULL && PyDict_GetItemString(dict, name + 1) == value;
    Py_XDECREF(module);
    if (same) return special_names[i];
  }
  return NULL;
}

static int IsShownByModules(PyObject* name) {
  return _PyUnicode_EqualToASCIIString(name, "__name__") ||
         _PyUnicode_EqualToASCIIString(name, "__doc__") ||
         _PyUnicode_EqualToASCIIString(name, "__version__");
}

int LookUpMember(const ModulePolicy* policy, PyObject* module, PyObject* name, Member* member) {
  *member = (Member){.kind = kPlainMember};
  PyObject* qualified = PyUnicode_FromFormat("%U.%U", module, name);
  if (Keep(policy, qualified) < 0) return -1;
  Verdict listed = LookUp(policy->rules->imports, qualified);
  int is_os = IsOs(module);
  if (listed == kUnlisted && ModuleVerdict(policy, module) != kAllowed) {
    // But `import urllib.parse` is allowed, and binds urllib.
    if (!IsImported(policy, module)) {
      member->kind = kUnknownMember;
      return 0;
    }
    listed = kRefused;
  }
  if (listed == kRefused || (is_os && LookUp(policy->rules->os_attributes, name) != kAllowed)) {
    member->kind = kRefusedMember;
    member->hint = is_os ? HintFor(caisson_os_hints, name, "for files, use pathlib.Path")
                         : HintFor(caisson_refused_members, qualified, "leave it out");
    return 0;
  }
  if (IsSpecial(qualified)) {
    member->kind = kSpecialMember;
    member->name = qualified;
    return 0;
  }
  if (PyUnicode_READ_CHAR(name, 0) == '_' && !IsShownByModules(name)) {
    member->kind = kPrivateMember;
    return 0;
  }
  if (listed != kAllowed && LookUp(policy->rules->attributes, name) == kRefused) {
    member->kind = kForeignMember;
    member->name = name;
    return 0;
  }
  LoadStandard(policy, module);
  PyObject* dict = LoadedDict(module);
  if (dict == NULL) return Guess(policy, module, qualified, name, member);
  if (LookInto(policy, dict, qualified, name, member) < 0) return -1;
  if (is_os && member->kind == kForeignMember) {  // The list of os attributes has allowed it.
    member->kind = kModuleMember;
    member->name = qualified;
  }
  return 0;
}

// Calls no code: `names` is a list or a tuple.
static int AllPlain(const ModulePolicy* policy, PyObject* module, PyObject* names) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(names); i++) {
    PyObject* name = PySequence_Fast_GET_ITEM(names, i);
    Member member;
    if (!PyUnicode_CheckExact(name)) return 0;
    if (LookUpMember(policy, module, name, &member) < 0) return -1;
    if (member.kind != kPlainMember) return 0;
  }
  return 1;
}

int StarIsPlain(const ModulePolicy* policy, PyObject* module) {
  PyObject* dict = LoadedDict(module);
  if (dict == NULL) return 0;
  PyObject* all = PyDict_GetItemString(dict, "__all__");
  if (all != NULL) {
    int is_sequence = PyList_CheckExact(all) || PyTuple_CheckExact(all);
    return is_sequence ? AllPlain(policy, module, all) : 0;
  }
  PyObject* names = PyList_New(0);
  PyObject *name, *value;
  for (Py_ssize_t at = 0; names != NULL && PyDict_Next(dict, &at, &name, &value);) {
    int is_public = PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) > 0 &&
                    PyUnicode_READ_CHAR(name, 0) != '_';
    if (is_public && PyList_Append(names, name) < 0) Py_CLEAR(names);
  }
  int plain = names == NULL ? -1 : AllPlain(policy, module, names);
  Py_XDECREF(names);
  return plain;
}
