#include "guest/own_dict.h"

#include "guest/tree.h"

static PyObject* dict_name;
static PyObject* own_dict;  // The function; it has no name in the code.

static int IsPythonsOwn(PyObject* object) {
  return PyModule_Check(object) ||
         (PyType_Check(object) &&
          PyType_HasFeature((PyTypeObject*)object, Py_TPFLAGS_IMMUTABLETYPE));
}

static PyObject* OwnDict(PyObject* Py_UNUSED(self), PyObject* object) {
  if (!IsPythonsOwn(object)) return PyObject_GetAttr(object, dict_name);
  PyErr_SetString(PyExc_AttributeError, "__dict__ is shown of objects of your own classes only");
  return NULL;
}

static PyMethodDef own_dict_method = {"__dict__", OwnDict, METH_O, NULL};

int OwnDictStart(void) {
  dict_name = PyUnicode_InternFromString("__dict__");
  own_dict = PyCFunction_New(&own_dict_method, NULL);
  return dict_name == NULL || own_dict == NULL ? -1 : 0;
}

static int Rewrite(TreeVisitor* visitor, expr_ty* slot) {
  expr_ty expr = *slot;
  PyArena* arena = visitor->state;
  if (expr->kind != Attribute_kind || expr->v.Attribute.ctx != Load ||
      expr->v.Attribute.attr != dict_name) {
    return kVisitChildren;
  }
  *slot = expr->v.Attribute.value;
  return WrapInCall(slot, own_dict, arena) < 0 ? kVisitFailed : kVisitChildren;
}

int RewriteDicts(mod_ty tree, PyArena* arena) {
  TreeVisitor visitor = {.expr = Rewrite, .state = arena};
  return VisitStmts(&visitor, tree->v.Module.body);
}
