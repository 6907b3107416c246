#include "guest/bridge/tool_spec.h"

#include "guest/bridge/value_codec.h"

enum { kParameterFields = 6 };

static PyObject* Field(PyObject* description, const char* key, int (*is_right)(PyObject*)) {
  PyObject* value = PyDict_GetItemString(description, key);
  return value != NULL && is_right(value) ? value : NULL;
}

static int IsStr(PyObject* object) {
  return PyUnicode_CheckExact(object);
}
static int IsList(PyObject* object) {
  return PyList_CheckExact(object);
}

static int IsParameter(PyObject* item) {
  return PyTuple_CheckExact(item) && PyTuple_GET_SIZE(item) == kParameterFields &&
         IsStr(PyTuple_GET_ITEM(item, 0)) && IsStr(PyTuple_GET_ITEM(item, 1)) &&
         PyLong_CheckExact(PyTuple_GET_ITEM(item, 2)) && IsList(PyTuple_GET_ITEM(item, 4));
}

static int IsDescribed(PyObject* entry) {
  return PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 2 &&
         IsStr(PyTuple_GET_ITEM(entry, 0)) && PyBytes_CheckExact(PyTuple_GET_ITEM(entry, 1));
}

PyObject* ToolName(PyObject* entry) {
  if (IsDescribed(entry)) return PyTuple_GET_ITEM(entry, 0);
  return IsStr(entry) ? entry : NULL;
}

PyObject* ToolEncoded(PyObject* entry) {
  return IsDescribed(entry) ? PyTuple_GET_ITEM(entry, 1) : NULL;
}

static int IsFunctionName(PyObject* name) {
  return PyUnicode_IsIdentifier(name) &&
         PyDict_GetItemWithError(PyEval_GetBuiltins(), name) == NULL;
}

int ToolIsFunction(PyObject* entry) {
  return IsDescribed(entry) ? IsFunctionName(PyTuple_GET_ITEM(entry, 0)) : IsStr(entry);
}

PyObject* ToolDescription(PyObject* encoded) {
  const uint8_t* bytes = (const uint8_t*)PyBytes_AS_STRING(encoded);
  Cursor cursor = {.at = bytes, .end = bytes + PyBytes_GET_SIZE(encoded)};
  PyObject* description = DecodeObject(&cursor);
  if (description != NULL && !PyDict_CheckExact(description)) {
    Py_CLEAR(description);
    PyErr_SetString(PyExc_SystemError, "malformed description of a tool");
  }
  return description;
}

int ToolSpecRead(PyObject* description, ToolSpec* spec) {
  *spec = (ToolSpec){
      .name = Field(description, "name", IsStr),
      .parameters = Field(description, "parameters", IsList),
      .returns = Field(description, "returns", IsStr),
      .takes_more = PyDict_GetItemString(description, "more") == Py_True,
  };
  if (spec->name == NULL || spec->parameters == NULL) return -1;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(spec->parameters); i++) {
    if (!IsParameter(PyList_GET_ITEM(spec->parameters, i))) return -1;
  }
  return 0;
}

Py_ssize_t ToolParameterCount(const ToolSpec* spec) {
  return PyList_GET_SIZE(spec->parameters);
}

ToolParameter ToolParameterAt(const ToolSpec* spec, Py_ssize_t index) {
  PyObject* item = PyList_GET_ITEM(spec->parameters, index);
  long presence = PyLong_AsLong(PyTuple_GET_ITEM(item, 2));
  if (presence == -1) PyErr_Clear();
  return (ToolParameter){
      .name = PyTuple_GET_ITEM(item, 0),
      .annotation = PyTuple_GET_ITEM(item, 1),
      .fallback = PyTuple_GET_ITEM(item, 3),
      .types = PyTuple_GET_ITEM(item, 4),
      .presence = presence == 0   ? kRequired
                  : presence == 1 ? kHasDefault
                                  : kMayBeOmitted,
      .keyword_only = PyTuple_GET_ITEM(item, 5) == Py_True,
  };
}

// Appends to `parts`, which may already be null.
static void Append(PyObject** parts, PyObject* part) {
  if (part == NULL || (*parts != NULL && PyList_Append(*parts, part) < 0)) Py_CLEAR(*parts);
  Py_XDECREF(part);
}

// `to: str`, or `"to": str`.
static PyObject* ParameterText(const ToolParameter* parameter, const char* quote) {
  switch (parameter->presence) {
    case kRequired:
      return PyUnicode_FromFormat("%s%.60U%s: %.80U", quote, parameter->name, quote,
                                  parameter->annotation);
    case kHasDefault:
      return PyUnicode_FromFormat("%s%.60U%s: %.80U = %.40R", quote, parameter->name, quote,
                                  parameter->annotation, parameter->fallback);
    default:
      return PyUnicode_FromFormat("%s%.60U%s: %.80U = ...", quote, parameter->name, quote,
                                  parameter->annotation);
  }
}

// Returns the text between the brackets.
static PyObject* ParametersText(const ToolSpec* spec, int is_function) {
  PyObject* parts = PyList_New(0);
  int by_name = !is_function;
  for (Py_ssize_t i = 0; parts != NULL && i < ToolParameterCount(spec); i++) {
    ToolParameter parameter = ToolParameterAt(spec, i);
    if (parameter.keyword_only && !by_name) Append(&parts, PyUnicode_FromString("*"));
    by_name |= parameter.keyword_only;
    Append(&parts, ParameterText(&parameter, is_function ? "" : "\""));
  }
  if (spec->takes_more) Append(&parts, PyUnicode_FromString("**more"));
  PyObject* comma = PyUnicode_FromString(", ");
  PyObject* list = parts == NULL || comma == NULL ? NULL : PyUnicode_Join(comma, parts);
  Py_XDECREF(parts);
  Py_XDECREF(comma);
  return list;
}

PyObject* ToolSignature(const ToolSpec* spec) {
  int is_function = IsFunctionName(spec->name);
  PyObject* list = ParametersText(spec, is_function);
  if (list == NULL) return NULL;
  PyObject* call = is_function
                       ? PyUnicode_FromFormat("%.80U(%.600U)", spec->name, list)
                       : PyUnicode_FromFormat("call_tool(\"%.80U\", {%.600U})", spec->name, list);
  Py_DECREF(list);
  if (call == NULL || spec->returns == NULL) return call;
  PyObject* text = PyUnicode_FromFormat("%U -> %.80U", call, spec->returns);
  Py_DECREF(call);
  return text;
}
