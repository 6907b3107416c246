#include "guest/native/foreign_tree.h"

#include <string.h>

enum { kNone = -1, kNode = -2, kList = -3 };
// A shape: the kind, its base, the number of positions, then the fields.
enum { kKind, kBase, kPositions, kFields };

static PyObject* kinds;  // The dict of module _ast.
static PyObject* base_type;
static PyObject* load;

typedef struct Reader {
  const uint8_t* at;
  const uint8_t* end;
  PyObject* shapes;
  PyObject* texts;
  PyObject* unknown;
  int number;
  int line, offset;  // Of the innermost node that has a position.
} Reader;

int ForeignTreeStart(void) {
  PyObject* module = PyImport_ImportModule("_ast");
  if (module == NULL) return -1;
  kinds = Py_NewRef(PyModule_GetDict(module));
  Py_DECREF(module);
  base_type = PyDict_GetItemString(kinds, "AST");
  load = PyObject_CallNoArgs(PyDict_GetItemString(kinds, "Load"));
  return load == NULL ? -1 : 0;
}

static int Malformed(void) {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "malformed syntax tree");
  return -1;
}

static int TakeInt(Reader* reader, int32_t* value) {
  if (reader->end - reader->at < (ptrdiff_t)sizeof *value) return Malformed();
  memcpy(value, reader->at, sizeof *value);
  reader->at += sizeof *value;
  return 0;
}

static int IsKind(PyObject* node, const char* name) {
  return PyObject_TypeCheck(node, (PyTypeObject*)PyDict_GetItemString(kinds, name));
}

static int IsText(PyObject* text, const char* expected) {
  return _PyUnicode_EqualToASCIIString(text, expected);
}

static int SetInt(PyObject* node, const char* name, int value) {
  PyObject* number = PyLong_FromLong(value);
  int status = number == NULL ? -1 : PyObject_SetAttrString(node, name, number);
  Py_XDECREF(number);
  return status;
}

typedef struct Place {
  int line, offset, end_line, end_offset;
} Place;

static int SetPlace(PyObject* node, const Place* place) {
  return SetInt(node, "lineno", place->line) < 0 || SetInt(node, "col_offset", place->offset) < 0 ||
                 SetInt(node, "end_lineno", place->end_line) < 0 ||
                 SetInt(node, "end_col_offset", place->end_offset) < 0
             ? -1
             : 0;
}

// Python's own functions add to positions, and compare them.
static int TakePosition(Reader* reader, int least, int* value) {
  enum { kMost = 1 << 30 };
  int32_t taken;
  if (TakeInt(reader, &taken) < 0 || taken < least || taken > kMost) return Malformed();
  *value = taken;
  return 0;
}

static int TakePlace(Reader* reader, long positions, int number, Place* place) {
  if (positions > 0 && (TakePosition(reader, 1, &reader->line) < 0 ||
                        TakePosition(reader, 0, &reader->offset) < 0)) {
    return -1;
  }
  *place = (Place){reader->line, reader->offset, reader->line + 1, number};
  if (positions < 4) return 0;
  return TakePosition(reader, 1, &place->end_line) < 0 ||
                 TakePosition(reader, 0, &place->end_offset) < 0
             ? -1
             : 0;
}

static PyObject* TakeValue(Reader* reader);

static PyObject* TakeList(Reader* reader) {
  int32_t count;
  if (TakeInt(reader, &count) < 0) return NULL;
  PyObject* list = PyList_New(0);
  for (int32_t i = 0; list != NULL && i < count; i++) {
    PyObject* value = TakeValue(reader);
    if (value == NULL || PyList_Append(list, value) < 0) Py_CLEAR(list);
    Py_XDECREF(value);
  }
  return list;
}

static int NoteUnknown(Reader* reader, const Place* place, PyObject* text) {
  PyObject* note = text == NULL ? NULL : Py_BuildValue("(iiO)", place->line, place->offset, text);
  int status = note == NULL ? -1 : PyList_Append(reader->unknown, note);
  Py_XDECREF(note);
  Py_XDECREF(text);
  return status;
}

// Adds the expressions in `value` to the list.
static int Gather(PyObject* value, PyObject* list) {
  if (!PyList_Check(value)) return IsKind(value, "expr") ? PyList_Append(list, value) : 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
    if (Gather(PyList_GET_ITEM(value, i), list) < 0) return -1;
  }
  return 0;
}

// Returns a node of that kind with one or two fields; null if one of them is null. Takes over both.
static PyObject* Make(const char* kind, const char* first, PyObject* one, const char* second,
                      PyObject* other, const Place* place) {
  PyObject* node =
      one == NULL || other == NULL ? NULL : PyObject_CallNoArgs(PyDict_GetItemString(kinds, kind));
  if (node != NULL &&
      (PyObject_SetAttrString(node, first, one) < 0 ||
       PyObject_SetAttrString(node, second, other) < 0 || SetPlace(node, place) < 0)) {
    Py_CLEAR(node);
  }
  Py_XDECREF(one);
  Py_XDECREF(other);
  return node;
}

static int IsStored(PyObject* node) {
  PyObject* context = PyObject_GetAttrString(node, "ctx");
  if (context == NULL) PyErr_Clear();
  int is_stored = context != NULL && IsKind(context, "Store");
  Py_XDECREF(context);
  return is_stored;
}

// An assignment of all values to all names that the statement binds.
static PyObject* StandInStatement(PyObject* parts, const Place* place) {
  PyObject* names = PyList_New(0);
  PyObject* values = PyList_New(0);
  int failed = names == NULL || values == NULL;
  for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(parts); i++) {
    PyObject* part = PyList_GET_ITEM(parts, i);
    failed = PyList_Append(IsStored(part) ? names : values, part) < 0;
  }
  if (failed) {
    Py_XDECREF(names);
    Py_XDECREF(values);
    return NULL;
  }
  PyObject* value = Make("Tuple", "elts", values, "ctx", Py_NewRef(load), place);
  if (PyList_GET_SIZE(names) > 0) return Make("Assign", "targets", names, "value", value, place);
  Py_DECREF(names);
  return Make("Expr", "value", value, "value", Py_XNewRef(value), place);
}

// Returns the replacement for a node of an unknown kind. A node that is no expression or statement,
// such as a type parameter, becomes a list of its expressions.
static PyObject* StandIn(PyObject* base, PyObject* parts, const Place* place) {
  if (IsText(base, "expr")) {
    return Make("Tuple", "elts", Py_NewRef(parts), "ctx", Py_NewRef(load), place);
  }
  if (IsText(base, "stmt")) return StandInStatement(parts, place);
  return Py_NewRef(parts);
}

static int IsEmpty(PyObject* value) {
  return value == Py_None || (PyList_Check(value) && PyList_GET_SIZE(value) == 0);
}

// Fields of newer versions are type parameters: their expressions become decorators.
static int KeepParts(PyObject* node, PyObject* parts) {
  PyObject* list = PyObject_GetAttrString(node, "decorator_list");
  if (list == NULL) return Malformed();
  Py_ssize_t size = PyList_Check(list) ? PyList_GET_SIZE(list) : 0;
  int status = PyList_Check(list) ? PyList_SetSlice(list, size, size, parts) : Malformed();
  Py_DECREF(list);
  return status;
}

// Takes the fields of a node. `node` is null if its kind is unknown.
static int TakeFields(Reader* reader, PyObject* shape, PyObject* node, const Place* place,
                      PyObject* parts) {
  PyObject* known =
      node == NULL ? NULL : PyObject_GetAttrString((PyObject*)Py_TYPE(node), "_fields");
  if (node != NULL && known == NULL) return -1;
  int failed = 0;
  for (Py_ssize_t i = kFields; !failed && i < PyTuple_GET_SIZE(shape); i++) {
    PyObject* field = PyTuple_GET_ITEM(shape, i);
    PyObject* value = TakeValue(reader);
    int is_known = known == NULL || value == NULL ? 0 : PySequence_Contains(known, field);
    if (value == NULL || is_known < 0) {
      failed = 1;
    } else if (is_known) {
      failed = PyObject_SetAttr(node, field, value) < 0;
    } else if (!IsEmpty(value)) {
      PyObject* kind = PyTuple_GET_ITEM(shape, kKind);
      failed =
          Gather(value, parts) < 0 ||
          (node != NULL &&
           (NoteUnknown(reader, place, PyUnicode_FromFormat("%.80U of %.80U", field, kind)) < 0 ||
            KeepParts(node, parts) < 0));
    }
    Py_XDECREF(value);
  }
  Py_XDECREF(known);
  return failed ? -1 : 0;
}

static PyObject* TakeNode(Reader* reader) {
  int32_t index;
  if (TakeInt(reader, &index) < 0) return NULL;
  if (index < 0 || index >= PyList_GET_SIZE(reader->shapes)) {
    Malformed();
    return NULL;
  }
  PyObject* shape = PyList_GET_ITEM(reader->shapes, index);
  PyObject* kind = PyTuple_GET_ITEM(shape, kKind);
  const int line = reader->line, offset = reader->offset;
  Place place;
  if (TakePlace(reader, PyLong_AsLong(PyTuple_GET_ITEM(shape, kPositions)), reader->number++,
                &place) < 0) {
    return NULL;
  }
  PyObject* type = PyDict_GetItemWithError(kinds, kind);
  int is_known = type != NULL && PyType_Check(type) &&
                 PyType_IsSubtype((PyTypeObject*)type, (PyTypeObject*)base_type);
  PyObject* node = is_known ? PyObject_CallNoArgs(type) : NULL;
  PyObject* parts = is_known && node == NULL ? NULL : PyList_New(0);
  int failed = parts == NULL || TakeFields(reader, shape, node, &place, parts) < 0;
  if (!failed && is_known) failed = SetPlace(node, &place) < 0;
  if (!failed && !is_known) {
    PyObject* base = PyTuple_GET_ITEM(shape, kBase);
    // Others are parts of a node or a field that is noted.
    int noted = IsText(base, "expr") || IsText(base, "stmt");
    failed = noted && NoteUnknown(reader, &place, Py_NewRef(kind)) < 0;
    if (!failed) node = StandIn(base, parts, &place);
  }
  if (failed) Py_CLEAR(node);
  Py_XDECREF(parts);
  reader->line = line;
  reader->offset = offset;
  return node;
}

static PyObject* TakeValue(Reader* reader) {
  int32_t tag;
  if (TakeInt(reader, &tag) < 0) return NULL;
  if (tag == kNone) return Py_NewRef(Py_None);
  if (tag >= 0 && tag < PyList_GET_SIZE(reader->texts)) {
    return Py_NewRef(PyList_GET_ITEM(reader->texts, tag));
  }
  if (tag != kNode && tag != kList) {
    Malformed();
    return NULL;
  }
  if (Py_EnterRecursiveCall(" in a syntax tree")) return NULL;
  PyObject* value = tag == kNode ? TakeNode(reader) : TakeList(reader);
  Py_LeaveRecursiveCall();
  return value;
}

static int CheckShapes(PyObject* shapes) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(shapes); i++) {
    PyObject* shape = PyList_GET_ITEM(shapes, i);
    if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) < kFields) return Malformed();
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(shape); j++) {
      PyObject* item = PyTuple_GET_ITEM(shape, j);
      if (j == kPositions ? !PyLong_CheckExact(item) : !PyUnicode_CheckExact(item)) {
        return Malformed();
      }
    }
    if (PyLong_AsLong(PyTuple_GET_ITEM(shape, kPositions)) < 0) return Malformed();
  }
  return 0;
}

// Returns the constant that a tuple stands for.
static PyObject* Constant(PyObject* tuple) {
  const char* bytes;
  Py_ssize_t size;
  double real, imaginary;
  long kind = PyTuple_GET_SIZE(tuple) == 0 ? -1 : PyLong_AsLong(PyTuple_GET_ITEM(tuple, 0));
  if (kind == 0 && PyArg_ParseTuple(tuple, "ly#", &kind, &bytes, &size)) {
    return PyUnicode_DecodeUTF8(bytes, size, "surrogatepass");
  }
  if (kind == 1 && PyArg_ParseTuple(tuple, "ldd", &kind, &real, &imaginary)) {
    return PyComplex_FromDoubles(real, imaginary);
  }
  if (kind == 2) return Py_NewRef(Py_Ellipsis);
  Malformed();
  return NULL;
}

static int IsPlain(PyObject* item) {
  return PyUnicode_CheckExact(item) || PyBytes_CheckExact(item) || PyLong_CheckExact(item) ||
         PyFloat_CheckExact(item) || PyBool_Check(item);
}

// The analyses compare names by their addresses, as the parser interns them.
static int PrepareTexts(PyObject* texts) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(texts); i++) {
    PyObject* item = PyList_GET_ITEM(texts, i);
    if (!PyTuple_CheckExact(item) && !IsPlain(item)) return Malformed();
    PyObject* made = PyTuple_CheckExact(item) ? Constant(item) : Py_NewRef(item);
    if (made == NULL) return -1;
    if (PyUnicode_CheckExact(made)) PyUnicode_InternInPlace(&made);
    PyList_SetItem(texts, i, made);
  }
  return 0;
}

static mod_ty MakeModule(PyObject* body, PyArena* arena) {
  const Place place = {1, 0, 1, 0};
  PyObject* module = Make("Module", "body", Py_NewRef(body), "type_ignores", PyList_New(0), &place);
  mod_ty tree = module == NULL ? NULL : PyAST_obj2mod(module, arena, 0);
  Py_XDECREF(module);
  // For some patterns, CPython's own check sets an error and returns that all is well.
  return tree != NULL && _PyAST_Validate(tree) && !PyErr_Occurred() ? tree : NULL;
}

mod_ty ForeignTreeRead(PyObject* message, PyArena* arena, PyObject* unknown) {
  PyObject* shapes = PyDict_GetItemString(message, "shapes");
  PyObject* texts = PyDict_GetItemString(message, "texts");
  PyObject* nodes = PyDict_GetItemString(message, "nodes");
  if (shapes == NULL || !PyList_CheckExact(shapes) || texts == NULL || !PyList_CheckExact(texts) ||
      nodes == NULL || !PyBytes_CheckExact(nodes) || CheckShapes(shapes) < 0 ||
      PrepareTexts(texts) < 0) {
    Malformed();
    return NULL;
  }
  const uint8_t* bytes = (const uint8_t*)PyBytes_AS_STRING(nodes);
  Reader reader = {.at = bytes,
                   .end = bytes + PyBytes_GET_SIZE(nodes),
                   .shapes = shapes,
                   .texts = texts,
                   .unknown = unknown,
                   .line = 1};
  PyObject* body = TakeValue(&reader);
  mod_ty tree = NULL;
  if (body != NULL && PyList_Check(body) && reader.at == reader.end) tree = MakeModule(body, arena);
  Py_XDECREF(body);
  if (tree == NULL) Malformed();
  return tree;
}
