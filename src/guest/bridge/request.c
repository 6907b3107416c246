#include "guest/bridge/request.h"

#include <string.h>

#include "guest/bridge/inbox.h"
#include "guest/hooks.h"

static Inbox request_in;

static int IsKey(const char* key, size_t size, const char* name) {
  return size == strlen(name) && memcmp(key, name, size) == 0;
}

// The policy is a number for the built-in ones, 0 (open) or 1 (strict), so that most requests use
// one byte for it. Otherwise it is a dict, which means strict with other lists. Anything else is
// refused, because code must not run unchecked by mistake.
static int TakePolicy(Request* request, Cursor* message) {
  int64_t number;
  if (ReadInt(message, &number) == 0) {
    request->is_strict = number == 1;
    return number == 0 || number == 1 ? 0 : -1;
  }
  PyObject* value = DecodeObject(message);
  if (value == NULL) return -1;
  request->is_strict = value != Py_None;
  if (value == Py_None || !PyDict_CheckExact(value)) {
    int status = value == Py_None ? 0 : -1;
    Py_DECREF(value);
    return status;
  }
  Py_XSETREF(request->policy, value);
  return 0;
}

static int TakeField(Request* request, Cursor* message) {
  const char* key;
  size_t size;
  if (ReadStr(message, &key, &size) < 0) return -1;
  if (IsKey(key, size, "code")) {
    return ReadBytes(message, (const uint8_t**)&request->code, &request->code_size);
  }
  if (IsKey(key, size, "result_bytes")) {
    int64_t limit;
    if (ReadInt(message, &limit) < 0 || limit < 0) return -1;
    request->result_bytes = limit > INT32_MAX ? INT32_MAX : (size_t)limit;
    return 0;
  }
  if (IsKey(key, size, "policy")) return TakePolicy(request, message);
  PyObject* value = DecodeObject(message);
  if (value == NULL) return -1;
  if (IsKey(key, size, "tools") && PyList_CheckExact(value)) {
    Py_XSETREF(request->tools, value);
  } else if (IsKey(key, size, "native_packages") && PyList_CheckExact(value)) {
    Py_XSETREF(request->native_packages, value);
  } else if (IsKey(key, size, "env") && PyDict_CheckExact(value)) {
    Py_XSETREF(request->environment, value);
  } else if (IsKey(key, size, "check")) {
    request->is_check = value != Py_False && value != Py_None;
    Py_DECREF(value);
  } else if (IsKey(key, size, "keep")) {
    request->keeps_cell = value == Py_True;
    Py_DECREF(value);
  } else if (IsKey(key, size, "argv0") && PyUnicode_CheckExact(value)) {
    PyUnicode_InternInPlace(&value);
    Py_XSETREF(request->file, value);
  } else {
    Py_DECREF(value);  // None, or a field of a newer holder.
  }
  return 0;
}

int TakeRequest(Request* request) {
  memset(request, 0, sizeof *request);
  request->result_bytes = 128 * 1024;
  Cursor message;
  size_t fields;
  if (InboxTake(&request_in, &message) <= 0 || ReadDictHead(&message, &fields) < 0) return -1;
  for (size_t i = 0; i < fields; i++) {
    if (TakeField(request, &message) < 0) {
      PyErr_Clear();
      ReleaseRequest(request);
      return -1;
    }
  }
  if (request->code == NULL) {
    ReleaseRequest(request);
    return -1;
  }
  if (request->file == NULL) request->file = Py_NewRef(hooks.default_file);
  // All fields are read, so the byte after the code can become the NUL that the parser needs. The
  // inbox is writable and has one byte more than the message.
  ((char*)(uintptr_t)request->code)[request->code_size] = '\0';
  if (request->code_size >= 3 && memcmp(request->code, "\xef\xbb\xbf", 3) == 0) {
    request->code += 3;
    request->code_size -= 3;
  }
  return 0;
}

void ReleaseRequest(Request* request) {
  Py_CLEAR(request->file);
  Py_CLEAR(request->tools);
  Py_CLEAR(request->policy);
  Py_CLEAR(request->native_packages);
  Py_CLEAR(request->environment);
}

// The length of the well-formed UTF-8 character at `at`, or 0.
static size_t CharacterSize(const uint8_t* at, const uint8_t* end) {
  uint8_t lead = *at;
  if (lead < 0x80) return 1;
  size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || (size_t)(end - at) < size) return 0;
  for (size_t i = 1; i < size; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
  }
  if ((lead == 0xe0 && at[1] < 0xa0) || (lead == 0xed && at[1] > 0x9f) ||
      (lead == 0xf0 && at[1] < 0x90) || (lead == 0xf4 && at[1] > 0x8f)) {
    return 0;  // Overlong, a surrogate, or beyond U+10FFFF.
  }
  return size;
}

static const char* SkipBlanks(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\f')) at++;
  return at;
}

static size_t EncodingNameSize(const char* at, const char* end) {
  const char* name = at;
  while (at < end && (Py_ISALNUM((unsigned char)*at) || *at == '-' || *at == '_' || *at == '.'))
    at++;
  return (size_t)(at - name);
}

// Returns the size of the encoding name that a line declares (PEP 263), and the name; 0 if it
// declares none.
static size_t DeclaredEncoding(const char* line, const char* end, const char** name) {
  const char* at = SkipBlanks(line, end);
  if (at == end || *at != '#') return 0;
  for (; end - at > 7; at++) {
    if (memcmp(at, "coding", 6) != 0 || (at[6] != ':' && at[6] != '=')) continue;
    *name = SkipBlanks(at + 7, end);
    size_t size = EncodingNameSize(*name, end);
    if (size > 0) return size;
  }
  return 0;
}

static int IsUtf8Name(const char* name, size_t size) {
  static const char* const names[] = {"utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii"};
  char lower[16];
  if (size >= sizeof lower) return 0;
  for (size_t i = 0; i < size; i++) lower[i] = name[i] == '_' ? '-' : (char)Py_TOLOWER(name[i]);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (IsKey(lower, size, names[i])) return 1;
  }
  return 0;
}

// Python would decode the code in another way than it was sent. A second line counts if the first
// has no code.
static int CheckEncoding(const Request* request) {
  const char* line = request->code;
  const char* end = line + request->code_size;
  for (int number = 1; number <= 2 && line < end; number++) {
    const char* next = line;
    while (next < end && *next != '\n' && *next != '\r') next++;
    const char* name;
    size_t size = DeclaredEncoding(line, next, &name);
    if (size > 0 && !IsUtf8Name(name, size)) {
      char shown[41] = {0};
      memcpy(shown, name, size < sizeof shown ? size : sizeof shown - 1);
      PyErr_Format(PyExc_SyntaxError, "the code says it is %s, and code is always UTF-8", shown);
      PyErr_SyntaxLocationObject(request->file, number, (int)(name - line) + 1);
      return -1;
    }
    const char* first = SkipBlanks(line, next);
    if (size > 0 || (first < next && *first != '#')) return 0;
    line = next + (next + 1 < end && next[0] == '\r' && next[1] == '\n' ? 2 : 1);
  }
  return 0;
}

int CheckSource(const Request* request) {
  if (CheckEncoding(request) < 0) return -1;
  const uint8_t* at = (const uint8_t*)request->code;
  const uint8_t* end = at + request->code_size;
  int line = 1, column = 1;
  while (at < end) {
    size_t size = CharacterSize(at, end);
    if (size == 0 || *at == 0) {
      if (size == 0) {
        PyErr_Format(PyExc_SyntaxError, "the code is not UTF-8: invalid byte 0x%x", *at);
      } else {
        PyErr_SetString(PyExc_SyntaxError, "source code cannot contain null bytes");
      }
      PyErr_SyntaxLocationObject(request->file, line, column);
      return -1;
    }
    column = *at == '\n' ? 1 : column + 1;
    line += *at == '\n';
    at += size;
  }
  return 0;
}
