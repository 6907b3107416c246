#include "guest/own_attributes.h"

#include "guest/tree.h"

static PyObject* Refuse(const char* message) {
  PyErr_SetString(PyExc_AttributeError, message);
  return NULL;
}

// Asks the object itself: a proxy, an alias of a class or a __getattr__ would answer for another one.
static PyObject* OwnLookup(PyObject* object, PyObject* name) {
  return PyType_Check(object) ? PyType_Type.tp_getattro(object, name)
                              : PyObject_GenericGetAttr(object, name);
}

static int IsPythonsOwn(PyObject* object) {
  return PyModule_Check(object) ||
         (PyType_Check(object) &&
          PyType_HasFeature((PyTypeObject*)object, Py_TPFLAGS_IMMUTABLETYPE));
}

static PyObject* OwnDict(PyObject* name, PyObject* object) {
  return IsPythonsOwn(object) ? Refuse("__dict__ is shown of objects of your own classes only")
                              : OwnLookup(object, name);
}

static int IsException(PyObject* object) {
  return PyExceptionInstance_Check(object) || PyExceptionClass_Check(object);
}

static PyObject* OwnObj(PyObject* name, PyObject* object) {
  return IsException(object) ? Refuse("the attribute obj of exceptions is not shown")
                             : OwnLookup(object, name);
}

static PyObject* NoModule(PyObject* name, PyObject* object) {
  PyObject* value = PyObject_GetAttr(object, name);
  if (value == NULL || !PyModule_Check(value)) return value;
  Py_DECREF(value);
  return Refuse("this attribute is a module, which is not shown");
}

// Each function has its attribute's name as `self`, and no name in the code.
static PyMethodDef methods[] = {{"__dict__", OwnDict, METH_O, NULL},
                                {"obj", OwnObj, METH_O, NULL},
                                {"os", NoModule, METH_O, NULL},
                                {"sys", NoModule, METH_O, NULL},
                                {"socket", NoModule, METH_O, NULL}};
enum { kOwnAttributes = sizeof methods / sizeof methods[0] };
static struct {
  PyObject* name;
  PyObject* function;
} own[kOwnAttributes];

int OwnAttributesStart(void) {
  for (int i = 0; i < kOwnAttributes; i++) {
    own[i].name = PyUnicode_InternFromString(methods[i].ml_name);
    own[i].function = own[i].name == NULL ? NULL : PyCFunction_New(&methods[i], own[i].name);
    if (own[i].function == NULL) return -1;
  }
  return 0;
}

static PyObject* FunctionFor(PyObject* name) {
  for (int i = 0; i < kOwnAttributes; i++) {
    if (own[i].name == name) return own[i].function;
  }
  return NULL;
}

int IsOwnAttribute(PyObject* name) {
  return FunctionFor(name) != NULL;
}

static int Rewrite(TreeVisitor* visitor, expr_ty* slot) {
  expr_ty expr = *slot;
  PyArena* arena = visitor->state;
  if (expr->kind != Attribute_kind || expr->v.Attribute.ctx != Load) return kVisitChildren;
  PyObject* function = FunctionFor(expr->v.Attribute.attr);
  if (function == NULL) return kVisitChildren;
  *slot = expr->v.Attribute.value;
  return WrapInCall(slot, function, arena) < 0 ? kVisitFailed : kVisitChildren;
}

int RewriteOwnAttributes(mod_ty tree, PyArena* arena) {
  TreeVisitor visitor = {.expr = Rewrite, .state = arena};
  return VisitStmts(&visitor, tree->v.Module.body);
}
