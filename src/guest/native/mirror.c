#include "guest/native/mirror.h"

#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>

#include "guest/hooks.h"
#include "guest/policy/modules.h"

// Replacements for members of modules, and others for variables. They differ, because the analyses
// compare variables with members.
typedef struct StandIns {
  PyObject* function;
  PyObject* type;
  PyObject* fixed;
} StandIns;

static StandIns members, variables;
static PyObject* kept;  // The modules of this interpreter.

static PyObject* Nothing(PyObject* Py_UNUSED(self), PyObject* Py_UNUSED(unused)) {
  Py_RETURN_NONE;
}
static PyMethodDef nothing = {"nothing", Nothing, METH_NOARGS, NULL};

static PyObject* NewType(const char* names, PyObject* value) {
  PyObject* dict = names == NULL ? PyDict_New() : Py_BuildValue("{sO}", names, value);
  PyObject* type =
      dict == NULL ? NULL : PyObject_CallFunction((PyObject*)&PyType_Type, "s()O", "type", dict);
  Py_XDECREF(dict);
  return type;
}

static int IsText(PyObject* item) {
  return item != NULL && PyUnicode_CheckExact(item);
}

static PyObject* Malformed(void) {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "malformed description");
  return NULL;
}

// A type whose instances have these attributes: (..., has fields, names or None).
static PyObject* NewClass(PyObject* has_fields, PyObject* names) {
  PyObject* type = NewType(NULL, NULL);
  PyObject* value = PyList_CheckExact(names) ? PyList_AsTuple(names) : Py_NewRef(names);
  int failed = type == NULL || value == NULL ||
               PyObject_SetAttrString(type, "__match_args__", value) < 0 ||
               (has_fields == Py_True && PyObject_SetAttrString(type, "_fields", value) < 0);
  Py_XDECREF(value);
  if (failed) Py_CLEAR(type);
  return type;
}

static PyObject* LoadForeign(PyObject* name);

// The module of that name. If it is registered under a name, that one has its contents.
static PyObject* ModuleNamed(PyObject* name, PyObject* registered) {
  if (IsText(registered)) return LoadForeign(registered);
  PyObject* module = PyModule_NewObject(IsText(name) ? name : Py_None);
  if (module != NULL && !IsText(name) &&
      PyDict_DelItemString(PyModule_GetDict(module), "__name__") < 0) {
    PyErr_Clear();
  }
  return module;
}

static int Put(PyObject* dict, PyObject* name, PyObject* value) {
  int status = value == NULL || !IsText(name) ? -1 : PyDict_SetItem(dict, name, value);
  Py_XDECREF(value);
  if (status < 0) Malformed();
  return status;
}

// Puts the value under each of the names.
static int PutAll(PyObject* dict, PyObject* lines, PyObject* value) {
  if (!IsText(lines)) return Malformed() == NULL ? -1 : 0;
  PyObject* names = PyUnicode_Splitlines(lines, 0);
  int failed = names == NULL;
  for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(names); i++) {
    PyObject* name = Py_NewRef(PyList_GET_ITEM(names, i));
    PyUnicode_InternInPlace(&name);
    failed = PyDict_SetItem(dict, name, value) < 0;
    Py_DECREF(name);
  }
  Py_XDECREF(names);
  return failed ? -1 : 0;
}

static int IsRow(PyObject* row) {
  return PyTuple_CheckExact(row) && PyTuple_GET_SIZE(row) == 3;
}

static int PutRows(PyObject* dict, PyObject* rows, PyObject* (*make)(PyObject*, PyObject*)) {
  if (rows == NULL || !PyList_CheckExact(rows)) return Malformed() == NULL ? -1 : 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows); i++) {
    PyObject* row = PyList_GET_ITEM(rows, i);
    if (!IsRow(row)) return Malformed() == NULL ? -1 : 0;
    PyObject* made = make(PyTuple_GET_ITEM(row, 1), PyTuple_GET_ITEM(row, 2));
    if (Put(dict, PyTuple_GET_ITEM(row, 0), made) < 0) return -1;
  }
  return 0;
}

// Makes the module of a description and registers it.
static PyObject* Register(PyObject* name, PyObject* description) {
  if (!PyDict_CheckExact(description)) return Malformed();
  PyObject* own = PyDict_GetItemString(description, "name");
  PyObject* module = ModuleNamed(own, NULL);
  PyObject* dict = module == NULL ? NULL : PyModule_GetDict(module);
  // Registered first: modules may contain each other.
  int failed = module == NULL || PyDict_SetItem(PyImport_GetModuleDict(), name, module) < 0;
  Py_XDECREF(module);
  if (failed) return NULL;
  PyObject* all = PyDict_GetItemString(description, "all");
  failed = PutAll(dict, PyDict_GetItemString(description, "other"), Py_None) < 0 ||
           PutAll(dict, PyDict_GetItemString(description, "functions"), members.function) < 0 ||
           PutAll(dict, PyDict_GetItemString(description, "types"), members.type) < 0 ||
           PutAll(dict, PyDict_GetItemString(description, "fixed"), members.fixed) < 0 ||
           PutRows(dict, PyDict_GetItemString(description, "modules"), ModuleNamed) < 0 ||
           PutRows(dict, PyDict_GetItemString(description, "classes"), NewClass) < 0 ||
           (all != NULL && all != Py_None && PyDict_SetItemString(dict, "__all__", all) < 0);
  return failed ? NULL : Py_NewRef(module);
}

// An import binds a module in the package that it belongs to.
static int BindInPackage(PyObject* name, PyObject* module) {
  Py_ssize_t size = PyUnicode_GET_LENGTH(name);
  Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, size, -1);
  if (dot < 0) return 0;
  PyObject* above = PyUnicode_Substring(name, 0, dot);
  PyObject* last = PyUnicode_Substring(name, dot + 1, size);
  PyObject* package =
      above == NULL ? NULL : PyDict_GetItemWithError(PyImport_GetModuleDict(), above);
  int failed = last == NULL || above == NULL ||
               (package != NULL && PyModule_Check(package) &&
                PyDict_SetItem(PyModule_GetDict(package), last, module) < 0);
  Py_XDECREF(above);
  Py_XDECREF(last);
  return failed ? -1 : 0;
}

// Returns the module as the foreign interpreter has it.
static PyObject* LoadForeign(PyObject* name) {
  PyObject* module = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  if (module != NULL) return Py_NewRef(module);
  PyObject* description = AskForeign("module", name);
  if (description != NULL && description != Py_None) module = Register(name, description);
  Py_XDECREF(description);
  if (module != NULL && BindInPackage(name, module) < 0) Py_CLEAR(module);
  if (module == NULL && !PyErr_Occurred()) PyErr_SetObject(PyExc_ModuleNotFoundError, name);
  return module;
}

// In the place of importlib's own function.
static PyObject* FindAndLoad(PyObject* Py_UNUSED(self), PyObject* args) {
  PyObject *name, *import;
  return PyArg_ParseTuple(args, "UO", &name, &import) ? LoadForeign(name) : NULL;
}
static PyMethodDef find_and_load = {"_find_and_load", FindAndLoad, METH_VARARGS, NULL};

static PyObject* IsMissing(PyObject* Py_UNUSED(self), PyObject* name) {
  return AskForeign("missing", name);
}
static PyMethodDef is_missing = {"is_missing", IsMissing, METH_O, NULL};

static int MakeStandIns(StandIns* made) {
  static PyType_Slot slots[] = {{0, NULL}};
  static PyType_Spec spec = {
      .name = "fixed", .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, .slots = slots};
  made->function = PyCFunction_New(&nothing, NULL);
  made->type = NewType(NULL, NULL);
  made->fixed = PyType_FromSpec(&spec);
  return made->function == NULL || made->type == NULL || made->fixed == NULL ? -1 : 0;
}

int MirrorStart(void) {
  PyObject* importer = PyCFunction_New(&find_and_load, NULL);
  hooks.is_missing = PyCFunction_New(&is_missing, NULL);
  kept = PyDict_Copy(PyImport_GetModuleDict());
  if (importer == NULL || hooks.is_missing == NULL || kept == NULL || MakeStandIns(&members) < 0 ||
      MakeStandIns(&variables) < 0 ||
      PyObject_SetAttrString(_PyInterpreterState_GET()->importlib, "_find_and_load", importer) <
          0) {
    return -1;
  }
  Py_DECREF(importer);
  return 0;
}

// A member that must be told from all others gets an object of its own.
static PyObject* OwnMember(PyObject* module_name, PyObject* name) {
  PyObject* module = IsText(module_name) && IsText(name) ? LoadForeign(module_name) : Malformed();
  PyObject* dict = module == NULL || !PyModule_Check(module) ? NULL : PyModule_GetDict(module);
  PyObject* value = dict == NULL ? NULL : PyDict_GetItemWithError(dict, name);
  PyObject* own = NULL;
  if (value != NULL && PyType_Check(value)) {
    own = NewType(NULL, NULL);
  } else if (value != NULL) {
    own = PyCFunction_New(&nothing, NULL);
  }
  if (own != NULL && PyDict_SetItem(dict, name, own) < 0) Py_CLEAR(own);
  Py_XDECREF(module);
  return own == NULL ? Malformed() : own;
}

static PyObject* Variable(PyObject* description) {
  if (!PyTuple_CheckExact(description) || PyTuple_GET_SIZE(description) == 0) return Malformed();
  PyObject* nature = PyTuple_GET_ITEM(description, 0);
  if (!IsText(nature)) return Malformed();
  if (_PyUnicode_EqualToASCIIString(nature, "other")) return Py_NewRef(Py_None);
  if (_PyUnicode_EqualToASCIIString(nature, "function")) return Py_NewRef(variables.function);
  if (_PyUnicode_EqualToASCIIString(nature, "type")) return Py_NewRef(variables.type);
  if (_PyUnicode_EqualToASCIIString(nature, "fixed")) return Py_NewRef(variables.fixed);
  if (_PyUnicode_EqualToASCIIString(nature, "object")) return PyObject_CallNoArgs(variables.type);
  if (!IsRow(description)) return Malformed();
  PyObject* first = PyTuple_GET_ITEM(description, 1);
  PyObject* second = PyTuple_GET_ITEM(description, 2);
  if (_PyUnicode_EqualToASCIIString(nature, "module")) return ModuleNamed(first, second);
  if (_PyUnicode_EqualToASCIIString(nature, "class")) return NewClass(first, second);
  if (_PyUnicode_EqualToASCIIString(nature, "member")) return OwnMember(first, second);
  return Malformed();
}

static int UpdateGlobals(PyObject* described) {
  PyObject* globals = PyDict_New();
  PyObject *name, *description;
  int failed = globals == NULL;
  for (Py_ssize_t at = 0; !failed && PyDict_Next(described, &at, &name, &description);) {
    failed = Put(globals, name, Variable(description)) < 0;
  }
  if (failed) {
    Py_XDECREF(globals);
    return -1;
  }
  Py_XSETREF(hooks.main_globals, globals);
  return 0;
}

static int UpdateLoaded(PyObject* described) {
  PyObject *name, *description;
  for (Py_ssize_t at = 0; PyDict_Next(described, &at, &name, &description);) {
    PyObject* module = IsText(name) ? Register(name, description) : Malformed();
    if (module == NULL) return -1;
    Py_DECREF(module);
  }
  return 0;
}

// Builtins that only the foreign interpreter has are builtins too.
static int UpdateBuiltins(PyObject* lines) {
  PyObject* names = PyDict_New();
  int failed = names == NULL || PutAll(names, lines, Py_None) < 0 ||
               PyDict_Merge(PyEval_GetBuiltins(), names, 0) < 0;
  Py_XDECREF(names);
  return failed ? -1 : 0;
}

static int UpdateStandard(PyObject* lines) {
  static int done;
  if (done) return 0;
  PyObject* names = IsText(lines) ? PyUnicode_Splitlines(lines, 0) : Malformed();
  PyObject* set = names == NULL ? NULL : PyFrozenSet_New(names);
  Py_XDECREF(names);
  int failed = set == NULL || PySys_SetObject("stdlib_module_names", set) < 0 || ModulesStart() < 0;
  Py_XDECREF(set);
  done = !failed;
  return failed ? -1 : 0;
}

int MirrorUpdate(PyObject* message) {
  PyObject* globals = PyDict_GetItemString(message, "globals");
  PyObject* loaded = PyDict_GetItemString(message, "loaded");
  if (globals == NULL || !PyDict_CheckExact(globals) || loaded == NULL ||
      !PyDict_CheckExact(loaded)) {
    Malformed();
    return -1;
  }
  PyDict_Clear(PyImport_GetModuleDict());  // They may have changed since.
  return UpdateStandard(PyDict_GetItemString(message, "standard")) < 0 ||
                 UpdateBuiltins(PyDict_GetItemString(message, "builtins")) < 0 ||
                 UpdateLoaded(loaded) < 0 || UpdateGlobals(globals) < 0
             ? -1
             : 0;
}
