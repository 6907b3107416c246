#include "guest/bridge/tools.h"

#include <stddef.h>
#include <structmember.h>

#include "guest/bridge/calls.h"
#include "guest/bridge/source.h"
#include "guest/bridge/tool_spec.h"
#include "guest/hooks.h"

typedef struct Tool {
  PyObject_HEAD PyObject* name;
  PyObject* encoded;  // Its description (tool_spec.h), or null.
  vectorcallfunc call;
} Tool;

static PyTypeObject ToolType;
static PyObject* call_tool;  // The builtin, for comparison.

static PyObject* CallAndWait(PyObject* callable, PyObject* const* args, size_t nargsf,
                             PyObject* keywords) {
  int64_t call = CallsPost(((Tool*)callable)->name, args, PyVectorcall_NARGS(nargsf), keywords);
  return call < 0 ? NULL : CallsFinish(call);
}

PyObject* ToolNew(PyObject* name, PyObject* encoded) {
  Tool* tool = PyObject_New(Tool, &ToolType);
  if (tool == NULL) return NULL;
  tool->name = Py_NewRef(name);
  tool->encoded = Py_XNewRef(encoded);
  tool->call = CallAndWait;
  return (PyObject*)tool;
}

static void ToolDealloc(PyObject* self) {
  Py_DECREF(((Tool*)self)->name);
  Py_XDECREF(((Tool*)self)->encoded);
  PyObject_Free(self);
}

static PyObject* ToolRepr(PyObject* self) {
  return PyUnicode_FromFormat("<tool %U>", ((Tool*)self)->name);
}

static PyObject* ToolDoc(PyObject* self, void* Py_UNUSED(closure)) {
  PyObject* encoded = ((Tool*)self)->encoded;
  PyObject* description = encoded == NULL ? NULL : ToolDescription(encoded);
  if (description == NULL && encoded != NULL) return NULL;
  PyObject* doc = description == NULL ? NULL : PyDict_GetItemString(description, "doc");
  doc = doc != NULL ? Py_NewRef(doc)
                    : PyUnicode_FromString(
                          "A tool of the host: call it like a function, with or without await.");
  Py_XDECREF(description);
  return doc;
}

// Returns the text that caisson.signature makes of the description; `closure` names the function.
static PyObject* ToolSaid(PyObject* self, void* closure) {
  PyObject* encoded = ((Tool*)self)->encoded;
  if (encoded == NULL) {
    PyErr_SetString(PyExc_AttributeError, "the host says no more about this tool than its name");
    return NULL;
  }
  PyObject* description = ToolDescription(encoded);
  PyObject* module = description == NULL ? NULL : PyImport_ImportModule("caisson.signature");
  PyObject* said = module == NULL ? NULL : PyObject_CallMethod(module, closure, "O", description);
  Py_XDECREF(module);
  Py_XDECREF(description);
  return said;
}

static PyGetSetDef tool_attributes[] = {
    {"__doc__", ToolDoc, NULL, NULL, NULL},
    {"__signature__", ToolSaid, NULL, NULL, "make"},
    {"__annotations__", ToolSaid, NULL, NULL, "annotations"},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef tool_members[] = {
    {"__name__", T_OBJECT, offsetof(Tool, name), READONLY, NULL},
    {"__qualname__", T_OBJECT, offsetof(Tool, name), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject ToolType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "caisson.Tool",
    .tp_basicsize = sizeof(Tool),
    .tp_dealloc = ToolDealloc,
    .tp_repr = ToolRepr,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Tool, call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_members = tool_members,
    .tp_getset = tool_attributes,
};

// Parses the arguments of call_tool: the name (borrowed) and the merged keywords (new).
static int ParseCallTool(PyObject* args, PyObject* keywords, PyObject** name, PyObject** merged) {
  PyObject* given = Py_None;
  if (!PyArg_ParseTuple(args, "U|O:call_tool", name, &given)) return -1;
  if (given != Py_None && !PyDict_Check(given)) {
    PyErr_Format(PyExc_TypeError, "call_tool: the arguments must be a dict, not '%.200s'",
                 Py_TYPE(given)->tp_name);
    return -1;
  }
  *merged = given == Py_None ? PyDict_New() : PyDict_Copy(given);
  if (*merged == NULL) return -1;
  if (keywords != NULL && PyDict_Update(*merged, keywords) < 0) {
    Py_CLEAR(*merged);
    return -1;
  }
  return 0;
}

static PyObject* CallTool(PyObject* Py_UNUSED(self), PyObject* args, PyObject* keywords) {
  PyObject *name, *merged;
  if (ParseCallTool(args, keywords, &name, &merged) < 0) return NULL;
  int64_t call = CallsPostPacked(name, NULL, merged);
  Py_DECREF(merged);
  return call < 0 ? NULL : CallsFinish(call);
}

static int has_pending;             // Since the last ConcludeCalls.
static PyTypeObject* pending_type;  // Where asyncio is loaded late, known with the first call.

static PyObject* MakePending(PyObject* name, PyObject* args, PyObject* keywords) {
  PyObject* call = PyObject_CallFunctionObjArgs(hooks.tool_call, name, args,
                                                keywords == NULL ? Py_None : keywords, NULL);
  if (call != NULL) pending_type = Py_TYPE(call);
  has_pending = 1;
  return call;
}

int IsPendingCall(PyObject* value) {
  return Py_IS_TYPE(value, pending_type);
}

static PyObject* PendingTool(PyObject* self, PyObject* args, PyObject* keywords) {
  return MakePending(((Tool*)self)->name, args, keywords);
}

static PyObject* PendingCallTool(PyObject* Py_UNUSED(self), PyObject* args, PyObject* keywords) {
  PyObject *name, *merged;
  if (ParseCallTool(args, keywords, &name, &merged) < 0) return NULL;
  PyObject* none = PyTuple_New(0);
  PyObject* pending = none == NULL ? NULL : MakePending(name, none, merged);
  Py_XDECREF(none);
  Py_DECREF(merged);
  return pending;
}

static PyMethodDef pending_tool = {"pending_tool", (PyCFunction)(void (*)(void))PendingTool,
                                   METH_VARARGS | METH_KEYWORDS, NULL};
static PyMethodDef pending_call_tool = {"call_tool", (PyCFunction)(void (*)(void))PendingCallTool,
                                        METH_VARARGS | METH_KEYWORDS, NULL};

PyObject* PendingTwin(PyObject* callable) {
  if (Py_IS_TYPE(callable, &ToolType)) return PyCFunction_New(&pending_tool, callable);
  return callable == call_tool ? PyCFunction_New(&pending_call_tool, NULL) : NULL;
}

void ConcludeCalls(void) {
  if (!has_pending) return;
  has_pending = 0;
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyObject* done = PyObject_CallNoArgs(hooks.conclude);
  if (done == NULL) PyErr_Clear();  // For example, the code's own stream refused the text.
  Py_XDECREF(done);
  PyErr_Restore(type, error, trace);
}

static PyMethodDef call_tool_def = {
    "call_tool", (PyCFunction)(void (*)(void))CallTool, METH_VARARGS | METH_KEYWORDS,
    "call_tool(name, arguments=None, /, **more)\n--\n\nCalls any tool of the host by its name."};

int ToolsInstall(void) {
  if (PyType_Ready(&ToolType) < 0) return -1;
  PyObject* builtins = PyEval_GetBuiltins();
  call_tool = PyCFunction_New(&call_tool_def, NULL);
  return call_tool == NULL || PyDict_SetItemString(builtins, "call_tool", call_tool) < 0 ? -1 : 0;
}

// The module `_caisson`.

static PyObject* ModulePost(PyObject* Py_UNUSED(module), PyObject* args) {
  PyObject *name, *positional, *keywords;
  if (!PyArg_ParseTuple(args, "UO!O:post", &name, &PyTuple_Type, &positional, &keywords)) {
    return NULL;
  }
  if (keywords != Py_None && !PyDict_Check(keywords)) {
    PyErr_SetString(PyExc_TypeError, "post: keywords must be a dict or None");
    return NULL;
  }
  int64_t call = CallsPostPacked(name, positional, keywords == Py_None ? NULL : keywords);
  return call < 0 ? NULL : PyLong_FromLongLong(call);
}

static PyObject* ModuleFinish(PyObject* Py_UNUSED(module), PyObject* number) {
  int64_t call = PyLong_AsLongLong(number);
  return call == -1 && PyErr_Occurred() ? NULL : CallsFinish(call);
}

static PyObject* ModuleWait(PyObject* Py_UNUSED(module), PyObject* timeout) {
  _PyTime_t ns = -1;
  if (timeout != Py_None && _PyTime_FromSecondsObject(&ns, timeout, _PyTime_ROUND_CEILING) < 0) {
    return NULL;
  }
  return CallsWait(timeout != Py_None && ns < 0 ? 0 : ns);
}

static PyObject* ModuleOutstanding(PyObject* Py_UNUSED(module), PyObject* Py_UNUSED(unused)) {
  return PyLong_FromLong(CallsOutstanding());
}

static PyObject* ModuleWake(PyObject* Py_UNUSED(module), PyObject* Py_UNUSED(unused)) {
  CallsWake();
  Py_RETURN_NONE;
}

static PyObject* ModuleSleep(PyObject* Py_UNUSED(module), PyObject* seconds) {
  _PyTime_t ns;
  if (_PyTime_FromSecondsObject(&ns, seconds, _PyTime_ROUND_TIMEOUT) < 0) return NULL;
  if (ns < 0) {
    PyErr_SetString(PyExc_ValueError, "sleep length must be non-negative");
    return NULL;
  }
  if (CallsSleep(ns) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject* ModuleSource(PyObject* Py_UNUSED(module), PyObject* Py_UNUSED(unused)) {
  return SourceText();
}

static PyMethodDef module_methods[] = {
    {"post", ModulePost, METH_VARARGS, "post(name, args, kwargs) -> call"},
    {"finish", ModuleFinish, METH_O, "finish(call) -> value, or raises"},
    {"wait", ModuleWait, METH_O, "wait(seconds or None) -> [(call, value, error)]"},
    {"outstanding", ModuleOutstanding, METH_NOARGS, "outstanding() -> calls not answered yet"},
    {"wake", ModuleWake, METH_NOARGS, "wake()\n\nEnds another thread's wait."},
    {"sleep", ModuleSleep, METH_O, "sleep(seconds)\n\nDelay execution for a number of seconds."},
    {"source", ModuleSource, METH_NOARGS, "source() -> the text of the code that runs"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "_caisson", .m_size = -1,
                                        .m_methods = module_methods};

static PyObject* ModuleInit(void) {
  return PyModule_Create(&module_def);
}

int ToolsRegister(void) {
  return PyImport_AppendInittab("_caisson", ModuleInit);
}
