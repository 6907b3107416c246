#include "guest/bridge/source.h"

#include "guest/hooks.h"

static PyObject* current_file;
static const char* current;
static size_t current_size;

PyObject* SourceText(void) {
  return PyUnicode_DecodeUTF8(current == NULL ? "" : current, (Py_ssize_t)current_size, "replace");
}

static PyObject* KeptText(PyObject* self, PyObject* Py_UNUSED(unused)) {
  return Py_NewRef(self);
}
static PyMethodDef kept_text = {"source", KeptText, METH_NOARGS, NULL};

// The format of linecache for a source that is not split into lines yet: a tuple with the function
// to call.
static int Register(PyObject* file, PyObject* function) {
  PyObject* entry = function == NULL ? NULL : PyTuple_Pack(1, function);
  int failed = entry == NULL || PyDict_SetItem(hooks.source_cache, file, entry) < 0;
  Py_XDECREF(entry);
  return failed ? -1 : 0;
}

int SourceKeep(void) {
  if (current == NULL) return 0;
  PyObject* text = SourceText();
  PyObject* function = text == NULL ? NULL : PyCFunction_New(&kept_text, text);
  int status = Register(current_file, function);
  Py_XDECREF(function);
  Py_XDECREF(text);
  current = NULL;
  current_size = 0;
  return status;
}

int SourceSet(PyObject* file, const char* utf8, size_t size) {
  int first = current_file == NULL && file == hooks.default_file;
  current = utf8;
  current_size = size;
  Py_XSETREF(current_file, Py_NewRef(file));
  return first ? 0 : Register(file, hooks.source_function);
}
