#include "guest/bridge/value_codec.h"

#include <math.h>
#include <string.h>

enum {
  kTagNone = 0,
  kTagFalse = 1,
  kTagTrue = 2,
  kTagInt = 3,
  kTagBigInt = 4,
  kTagFloat = 5,
  kTagStr = 6,
  kTagBytes = 7,
  kTagList = 8,
  kTagTuple = 9,
  kTagDict = 10,
};

#define TRY_PUT(expression)                        \
  do {                                             \
    EncodeStatus try_status = (expression);        \
    if (try_status != kEncoded) return try_status; \
  } while (0)

void BufferInit(Buffer* buffer, uint8_t* fixed, size_t fixed_capacity, size_t limit) {
  buffer->data = fixed;
  buffer->size = 0;
  buffer->capacity = fixed_capacity;
  buffer->limit = limit;
  buffer->fixed = fixed;
  buffer->fixed_capacity = fixed_capacity;
  buffer->failed = 0;
}

void BufferFree(Buffer* buffer) {
  if (buffer->data != buffer->fixed) PyMem_RawFree(buffer->data);
  BufferInit(buffer, buffer->fixed, buffer->fixed_capacity, buffer->limit);
}

// Reserves space for `size` more bytes.
static EncodeStatus Reserve(Buffer* buffer, size_t size) {
  if (size <= buffer->capacity - buffer->size && size <= buffer->limit - buffer->size) {
    return kEncoded;
  }
  int failed_before = buffer->failed;
  buffer->failed = 1;
  if (size > buffer->limit - buffer->size) return kTooBig;
  size_t need = buffer->size + size;
  size_t capacity = buffer->capacity < 2048 ? 4096 : buffer->capacity * 2;
  while (capacity < need) capacity *= 2;
  uint8_t* grown = PyMem_RawRealloc(buffer->data == buffer->fixed ? NULL : buffer->data, capacity);
  if (grown == NULL) return kOutOfMemory;
  if (buffer->data == buffer->fixed && buffer->size > 0) memcpy(grown, buffer->data, buffer->size);
  buffer->data = grown;
  buffer->capacity = capacity;
  buffer->failed = failed_before;
  return kEncoded;
}

EncodeStatus BufferPut(Buffer* buffer, const void* bytes, size_t size) {
  TRY_PUT(Reserve(buffer, size));
  if (size > 0) memcpy(buffer->data + buffer->size, bytes, size);
  buffer->size += size;
  return kEncoded;
}

static EncodeStatus PutTagAndCount(Buffer* buffer, uint8_t tag, uint64_t count) {
  uint8_t bytes[11];
  size_t size = 0;
  bytes[size++] = tag;
  while (count >= 0x80) {
    bytes[size++] = (uint8_t)(count | 0x80);
    count >>= 7;
  }
  bytes[size++] = (uint8_t)count;
  return BufferPut(buffer, bytes, size);
}

EncodeStatus PutTag(Buffer* buffer, uint8_t tag) {
  return BufferPut(buffer, &tag, 1);
}
EncodeStatus PutNone(Buffer* buffer) {
  return PutTag(buffer, kTagNone);
}

EncodeStatus PutListHead(Buffer* buffer, size_t count) {
  return PutTagAndCount(buffer, kTagList, count);
}

EncodeStatus PutDictHead(Buffer* buffer, size_t count) {
  return PutTagAndCount(buffer, kTagDict, count);
}

EncodeStatus PutInt(Buffer* buffer, int64_t value) {
  uint64_t zigzag = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
  return PutTagAndCount(buffer, kTagInt, zigzag);
}

EncodeStatus PutStr(Buffer* buffer, const char* utf8, size_t size) {
  TRY_PUT(PutTagAndCount(buffer, kTagStr, size));
  return BufferPut(buffer, utf8, size);
}

EncodeStatus PutCStr(Buffer* buffer, const char* utf8) {
  return PutStr(buffer, utf8, strlen(utf8));
}

static EncodeStatus Unsupported(Encoder* encoder, PyObject* object) {
  encoder->culprit = object;
  return kUnsupported;
}

// Returns whether the int has more digits than JSON allows. Counting digits takes quadratic time,
// so they are counted only if the number of bits does not decide.
static int HasTooManyDigits(PyObject* object, size_t bits) {
  if (bits != CAISSON_MAX_JSON_INT_BITS) return bits > CAISSON_MAX_JSON_INT_BITS;
  PyObject* digits = _PyLong_Format(object, 10);
  if (digits == NULL) {  // The code may have set a lower limit itself (sys.set_int_max_str_digits).
    PyErr_Clear();
    return 1;
  }
  Py_ssize_t count = PyUnicode_GET_LENGTH(digits) - (Py_SIZE(object) < 0);
  Py_DECREF(digits);
  return count > CAISSON_MAX_JSON_DIGITS;
}

static EncodeStatus EncodeInt(Encoder* encoder, PyObject* object) {
  int overflow = 0;
  int64_t small = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (!overflow) return PutInt(encoder->out, small);
  size_t bits = _PyLong_NumBits(object);
  if (bits == (size_t)-1) {
    PyErr_Clear();
    return kTooBig;
  }
  size_t size = bits / 8 + 1;  // One bit more than the magnitude, for the sign.
  if (encoder->mode == kJsonValue && HasTooManyDigits(object, bits)) {
    return Unsupported(encoder, object);
  }
  Buffer* out = encoder->out;
  TRY_PUT(PutTagAndCount(out, kTagBigInt, size));
  TRY_PUT(Reserve(out, size));
  if (_PyLong_AsByteArray((PyLongObject*)object, out->data + out->size, size, 1, 1) < 0) {
    PyErr_Clear();
    return Unsupported(encoder, object);
  }
  out->size += size;
  return kEncoded;
}

static EncodeStatus EncodeStr(Encoder* encoder, PyObject* object) {
  Py_ssize_t size;
  const char* utf8 = PyUnicode_AsUTF8AndSize(object, &size);
  if (utf8 == NULL) {
    int no_memory = PyErr_ExceptionMatches(PyExc_MemoryError);
    PyErr_Clear();
    return no_memory ? kOutOfMemory : Unsupported(encoder, object);
  }
  return PutStr(encoder->out, utf8, (size_t)size);
}

static EncodeStatus EncodeFloat(Encoder* encoder, PyObject* object) {
  double value = PyFloat_AS_DOUBLE(object);
  if (encoder->mode == kJsonValue && !isfinite(value)) return Unsupported(encoder, object);
  uint8_t bytes[9];
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bytes[0] = kTagFloat;
  for (int i = 0; i < 8; i++) bytes[1 + i] = (uint8_t)(bits >> (8 * i));
  return BufferPut(encoder->out, bytes, sizeof bytes);
}

static EncodeStatus EncodeItems(Encoder* encoder, uint8_t tag, PyObject** items, Py_ssize_t count,
                                int depth) {
  TRY_PUT(PutTagAndCount(encoder->out, tag, (uint64_t)count));
  for (Py_ssize_t i = 0; i < count; i++) TRY_PUT(EncodeNested(encoder, items[i], depth + 1));
  return kEncoded;
}

static EncodeStatus EncodeDict(Encoder* encoder, PyObject* dict, int depth) {
  TRY_PUT(PutDictHead(encoder->out, (size_t)PyDict_GET_SIZE(dict)));
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (encoder->mode == kJsonValue && !PyUnicode_Check(key)) return Unsupported(encoder, key);
    TRY_PUT(EncodeNested(encoder, key, depth + 1));
    TRY_PUT(EncodeNested(encoder, value, depth + 1));
  }
  return kEncoded;
}

EncodeStatus EncodeNested(Encoder* encoder, PyObject* object, int depth) {
  if (object == Py_None) return PutNone(encoder->out);
  if (object == Py_False) return PutTag(encoder->out, kTagFalse);
  if (object == Py_True) return PutTag(encoder->out, kTagTrue);
  if (PyLong_Check(object)) return EncodeInt(encoder, object);
  if (PyUnicode_Check(object)) return EncodeStr(encoder, object);
  if (PyFloat_Check(object)) return EncodeFloat(encoder, object);
  if (depth >= CAISSON_MAX_DEPTH) return kTooDeep;
  if (PyDict_Check(object)) return EncodeDict(encoder, object, depth);
  if (PyList_Check(object)) {
    return EncodeItems(encoder, kTagList, ((PyListObject*)object)->ob_item, PyList_GET_SIZE(object),
                       depth);
  }
  if (PyTuple_Check(object)) {
    return EncodeItems(encoder, kTagTuple, ((PyTupleObject*)object)->ob_item,
                       PyTuple_GET_SIZE(object), depth);
  }
  if (encoder->mode == kJsonValue) return Unsupported(encoder, object);
  if (PyBytes_Check(object)) {
    TRY_PUT(PutTagAndCount(encoder->out, kTagBytes, (uint64_t)PyBytes_GET_SIZE(object)));
    return BufferPut(encoder->out, PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object));
  }
  if (PyByteArray_Check(object)) {
    TRY_PUT(PutTagAndCount(encoder->out, kTagBytes, (uint64_t)PyByteArray_GET_SIZE(object)));
    return BufferPut(encoder->out, PyByteArray_AS_STRING(object),
                     (size_t)PyByteArray_GET_SIZE(object));
  }
  return Unsupported(encoder, object);
}

EncodeStatus EncodeObject(Encoder* encoder, PyObject* object) {
  return EncodeNested(encoder, object, 0);
}

static int ReadVarint(Cursor* cursor, uint64_t* value) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (cursor->at == cursor->end) return -1;
    uint8_t byte = *cursor->at++;
    if (shift == 63 && byte > 1) return -1;
    result |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return 0;
    }
  }
  return -1;
}

// Reads a count of items that take at least `unit` bytes each, so that it cannot exceed the
// remaining bytes.
static int ReadCount(Cursor* cursor, size_t unit, size_t* count) {
  uint64_t value;
  if (ReadVarint(cursor, &value) < 0) return -1;
  if (value > (uint64_t)(cursor->end - cursor->at) / unit) return -1;
  *count = (size_t)value;
  return 0;
}

static int ReadHead(Cursor* cursor, uint8_t tag, size_t unit, size_t* count) {
  if (cursor->at == cursor->end || *cursor->at != tag) return -1;
  cursor->at++;
  return ReadCount(cursor, unit, count);
}

int ReadListHead(Cursor* cursor, size_t* count) {
  return ReadHead(cursor, kTagList, 1, count);
}
int ReadTupleHead(Cursor* cursor, size_t* count) {
  return ReadHead(cursor, kTagTuple, 1, count);
}
int ReadDictHead(Cursor* cursor, size_t* count) {
  return ReadHead(cursor, kTagDict, 2, count);
}

int ReadInt(Cursor* cursor, int64_t* value) {
  uint64_t zigzag;
  if (cursor->at == cursor->end || *cursor->at != kTagInt) return -1;
  cursor->at++;
  if (ReadVarint(cursor, &zigzag) < 0) return -1;
  *value = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
  return 0;
}

static int ReadBlob(Cursor* cursor, uint8_t tag, const uint8_t** bytes, size_t* size) {
  if (ReadHead(cursor, tag, 1, size) < 0) return -1;
  *bytes = cursor->at;
  cursor->at += *size;
  return 0;
}

int ReadBytes(Cursor* cursor, const uint8_t** bytes, size_t* size) {
  return ReadBlob(cursor, kTagBytes, bytes, size);
}

int ReadStr(Cursor* cursor, const char** utf8, size_t* size) {
  return ReadBlob(cursor, kTagStr, (const uint8_t**)utf8, size);
}

static PyObject* Malformed(void) {
  PyErr_SetString(PyExc_ValueError, "malformed message from the host");
  return NULL;
}

static PyObject* DecodeNested(Cursor* cursor, int depth);

static PyObject* DecodeItems(Cursor* cursor, uint8_t tag, int depth) {
  size_t count;
  if (ReadHead(cursor, tag, 1, &count) < 0) return Malformed();
  PyObject* items =
      tag == kTagList ? PyList_New((Py_ssize_t)count) : PyTuple_New((Py_ssize_t)count);
  if (items == NULL) return NULL;
  for (size_t i = 0; i < count; i++) {
    PyObject* item = DecodeNested(cursor, depth + 1);
    if (item == NULL) {
      Py_DECREF(items);
      return NULL;
    }
    if (tag == kTagList) {
      PyList_SET_ITEM(items, (Py_ssize_t)i, item);
    } else {
      PyTuple_SET_ITEM(items, (Py_ssize_t)i, item);
    }
  }
  return items;
}

static int DecodeEntry(Cursor* cursor, PyObject* dict, int depth) {
  PyObject* key = DecodeNested(cursor, depth + 1);
  if (key == NULL) return -1;
  PyObject* value = DecodeNested(cursor, depth + 1);
  int failed = value == NULL || PyDict_SetItem(dict, key, value) < 0;
  Py_DECREF(key);
  Py_XDECREF(value);
  return failed ? -1 : 0;
}

static PyObject* DecodeDict(Cursor* cursor, int depth) {
  size_t count;
  if (ReadDictHead(cursor, &count) < 0) return Malformed();
  PyObject* dict = PyDict_New();
  for (size_t i = 0; dict != NULL && i < count; i++) {
    if (DecodeEntry(cursor, dict, depth) < 0) Py_CLEAR(dict);
  }
  return dict;
}

static PyObject* DecodeFloat(Cursor* cursor) {
  cursor->at++;
  if (cursor->end - cursor->at < 8) return Malformed();
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits |= (uint64_t)*cursor->at++ << (8 * i);
  double value;
  memcpy(&value, &bits, sizeof value);
  return PyFloat_FromDouble(value);
}

static PyObject* DecodeBlob(Cursor* cursor, uint8_t tag) {
  const uint8_t* bytes;
  size_t size;
  if (ReadBlob(cursor, tag, &bytes, &size) < 0) return Malformed();
  if (tag == kTagStr) return PyUnicode_DecodeUTF8((const char*)bytes, (Py_ssize_t)size, NULL);
  if (tag == kTagBytes) return PyBytes_FromStringAndSize((const char*)bytes, (Py_ssize_t)size);
  if (size == 0) return Malformed();
  return _PyLong_FromByteArray(bytes, size, 1, 1);
}

static PyObject* DecodeNested(Cursor* cursor, int depth) {
  if (cursor->at == cursor->end || depth > CAISSON_MAX_DEPTH) return Malformed();
  uint8_t tag = *cursor->at;
  int64_t small;
  switch (tag) {
    case kTagNone:
      cursor->at++;
      Py_RETURN_NONE;
    case kTagFalse:
      cursor->at++;
      Py_RETURN_FALSE;
    case kTagTrue:
      cursor->at++;
      Py_RETURN_TRUE;
    case kTagInt:
      return ReadInt(cursor, &small) < 0 ? Malformed() : PyLong_FromLongLong(small);
    case kTagFloat:
      return DecodeFloat(cursor);
    case kTagBigInt:
    case kTagStr:
    case kTagBytes:
      return DecodeBlob(cursor, tag);
    case kTagList:
    case kTagTuple:
      return DecodeItems(cursor, tag, depth);
    case kTagDict:
      return DecodeDict(cursor, depth);
    default:
      return Malformed();
  }
}

PyObject* DecodeObject(Cursor* cursor) {
  return DecodeNested(cursor, 0);
}
