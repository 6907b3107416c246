#include "guest/policy/own_attributes.h"

#include "guest/policy/modules.h"
#include "guest/tree.h"

static PyObject* Refuse(const char* message) {
  PyErr_SetString(PyExc_AttributeError, message);
  return NULL;
}

// Asks the object itself: a proxy, an alias of a class or a __getattr__ would answer for another
// object.
static PyObject* OwnLookup(PyObject* object, PyObject* name) {
  return PyType_Check(object) ? PyType_Type.tp_getattro(object, name)
                              : PyObject_GenericGetAttr(object, name);
}

static int IsPythonsOwn(PyObject* object) {
  if (!PyType_Check(object)) return PyModule_Check(object);
  if (PyType_HasFeature((PyTypeObject*)object, Py_TPFLAGS_IMMUTABLETYPE)) return 1;
  PyObject* module = PyDict_GetItemString(((PyTypeObject*)object)->tp_dict, "__module__");
  if (module == NULL || !PyUnicode_CheckExact(module)) return 0;
  if (_PyUnicode_EqualToASCIIString(module, "__main__")) return 0;
  return IsStandard(module) ||
         PyDict_GetItemWithError(PyImport_GetModuleDict(), module) != NULL;  // A package's.
}

static int HoldsModule(PyObject* dict) {
  PyObject* value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, NULL, &value);) {
    if (PyModule_Check(value)) return 1;
  }
  return 0;
}

static PyObject* OwnDict(PyObject* name, PyObject* object) {
  if (IsPythonsOwn(object)) return Refuse("__dict__ is shown of objects of your own classes only");
  PyObject* shown = OwnLookup(object, name);
  PyObject* dict = PyType_Check(object) ? ((PyTypeObject*)object)->tp_dict : shown;
  if (shown == NULL || !PyDict_Check(dict) || !HoldsModule(dict)) return shown;
  Py_DECREF(shown);
  return Refuse("__dict__ holds a module, which is not shown");
}

static PyObject* NoModule(PyObject* name, PyObject* object) {
  PyObject* value = PyObject_GetAttr(object, name);
  if (value == NULL || !PyModule_Check(value)) return value;
  Py_DECREF(value);
  return Refuse("this attribute is a module, which is not shown");
}

// AttributeError.obj. Every way to read an attribute (proxies, super(), aliases of types, a
// __getattr__ of the library) ends here.

static int shows_obj;

static PyObject* GetObj(PyObject* error, void* Py_UNUSED(closure)) {
  PyObject* obj = ((PyAttributeErrorObject*)error)->obj;
  return Py_NewRef(shows_obj && obj != NULL ? obj : Py_None);
}

static int SetObj(PyObject* error, PyObject* obj, void* Py_UNUSED(closure)) {
  Py_XSETREF(((PyAttributeErrorObject*)error)->obj, Py_XNewRef(obj));
  return 0;
}

static int GuardObj(void) {
  static PyGetSetDef guarded = {.name = "obj", .get = GetObj, .set = SetObj};
  PyTypeObject* type = (PyTypeObject*)PyExc_AttributeError;
  PyObject* descriptor = PyDescr_NewGetSet(type, &guarded);
  int status = descriptor == NULL ? -1 : PyDict_SetItemString(type->tp_dict, "obj", descriptor);
  Py_XDECREF(descriptor);
  PyType_Modified(type);
  return status;
}

static int IsAttributeError(PyObject* object) {
  PyTypeObject* type = PyType_Check(object) ? (PyTypeObject*)object : Py_TYPE(object);
  return PyType_IsSubtype(type, (PyTypeObject*)PyExc_AttributeError);
}

static PyObject* OwnObj(PyObject* name, PyObject* object) {
  return IsAttributeError(object) ? Refuse("the attribute obj of an AttributeError is not shown")
                                  : NoModule(name, object);
}

// Returns the name of the module that a callable comes from: borrowed, or null.
static PyObject* ModuleOf(PyObject* callable) {
  while (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
  PyObject* held =
      PyFunction_Check(callable) ? PyFunction_GET_GLOBALS(callable) : Py_TYPE(callable)->tp_dict;
  return PyDict_GetItemString(held, PyFunction_Check(callable) ? "__name__" : "__module__");
}

// DataFrame.query, DataFrame.eval: where they are called, the check sees their text.
static PyObject* NoEvaluator(PyObject* name, PyObject* object) {
  PyObject* value = PyObject_GetAttr(object, name);
  if (value == NULL || !PyCallable_Check(value)) return value;
  PyObject* module = ModuleOf(value);
  int is_known = module == NULL || !PyUnicode_CheckExact(module) || IsStandard(module) ||
                 _PyUnicode_EqualToASCIIString(module, "__main__");
  if (is_known) return value;
  Py_DECREF(value);
  return Refuse("call it where it stands, with the text as a literal: df.query('a > @n')");
}

// Each function has its attribute's name as `self`; the code has no name for it.
static PyMethodDef methods[] = {
    {"__dict__", OwnDict, METH_O, NULL}, {"obj", OwnObj, METH_O, NULL},
    {"os", NoModule, METH_O, NULL},      {"sys", NoModule, METH_O, NULL},
    {"socket", NoModule, METH_O, NULL},  {"query", NoEvaluator, METH_O, NULL},
    {"eval", NoEvaluator, METH_O, NULL}};
enum {
  kEvaluators = 2,
  kRead = sizeof methods / sizeof methods[0],
  kOwnAttributes = kRead - kEvaluators
};
static struct {
  PyObject* name;
  PyObject* function;
} own[kRead];

int OwnAttributesStart(void) {
  for (int i = 0; i < kRead; i++) {
    own[i].name = PyUnicode_InternFromString(methods[i].ml_name);
    own[i].function = own[i].name == NULL ? NULL : PyCFunction_New(&methods[i], own[i].name);
    if (own[i].function == NULL) return -1;
  }
  return GuardObj();
}

void GuardExceptions(ExceptionsShow show) {
  int shows = show == kShowAll;
  if (shows_obj != shows) shows_obj = shows;  // An unwritten page stays shared.
}

// The index of the attribute if one of our functions reads it; otherwise kRead.
static int IndexOf(PyObject* name) {
  int i = 0;
  while (i < kRead && own[i].name != name) i++;
  return i;
}

int IsOwnAttribute(PyObject* name) {
  return IndexOf(name) < kOwnAttributes;
}

typedef struct Rewriter {
  PyArena* arena;
  expr_ty called;
} Rewriter;

static int Rewrite(TreeVisitor* visitor, expr_ty* slot) {
  expr_ty expr = *slot;
  Rewriter* rewriter = visitor->state;
  if (expr->kind == Call_kind) rewriter->called = expr->v.Call.func;
  if (expr->kind != Attribute_kind || expr->v.Attribute.ctx != Load) return kVisitChildren;
  int index = IndexOf(expr->v.Attribute.attr);
  if (index == kRead || (index >= kOwnAttributes && expr == rewriter->called)) {
    return kVisitChildren;
  }
  *slot = expr->v.Attribute.value;
  return WrapInCall(slot, own[index].function, rewriter->arena) < 0 ? kVisitFailed : kVisitChildren;
}

int RewriteOwnAttributes(mod_ty tree, PyArena* arena) {
  Rewriter rewriter = {.arena = arena};
  TreeVisitor visitor = {.expr = Rewrite, .state = &rewriter};
  return VisitStmts(&visitor, tree->v.Module.body);
}
