// Converts Python objects to and from the bytes of wire/value.h, directly, without a tree in
// between.
//
// Trust     The objects are hostile. None of their code runs here, because subclasses of the plain
//           types are read through their base storage. The bytes come from the holder and are
//           trusted, but checked even so, so that a bug there cannot corrupt the interpreter.
// Threads   With the interpreter lock held.
// Lifetime  A Buffer borrows `fixed` as long as it lives and frees its own allocations.
#ifndef CAISSON_GUEST_BRIDGE_VALUE_CODEC_H_
#define CAISSON_GUEST_BRIDGE_VALUE_CODEC_H_

#include "guest/python.h"

// Bytes that grow up to a limit, first in storage that the caller lends.
typedef struct Buffer {
  uint8_t* data;
  size_t size;
  size_t capacity;
  size_t limit;
  uint8_t* fixed;
  size_t fixed_capacity;
  int failed;  // Something did not fit; the contents are invalid.
} Buffer;

typedef enum EncodeStatus {
  kEncoded = 0,
  kTooBig,       // Beyond the buffer's limit.
  kTooDeep,      // Nested deeper than both sides allow, for example a cycle.
  kUnsupported,  // A type without an encoding; see Encoder.culprit.
  kOutOfMemory,
} EncodeStatus;

typedef enum EncodeMode {
  kAnyValue,   // Everything that wire/value.h supports.
  kJsonValue,  // Only values that JSON can represent.
} EncodeMode;

typedef struct Encoder {
  Buffer* out;
  EncodeMode mode;
  PyObject* culprit;  // Borrowed: the object that could not be encoded.
} Encoder;

#define CAISSON_MAX_DEPTH 200
// The maximum number of digits of an int that Python's json reads (wire/value.h). The first longer
// int, 10**4300, has this many bits.
#define CAISSON_MAX_JSON_DIGITS 4300
#define CAISSON_MAX_JSON_INT_BITS 14285

void BufferInit(Buffer* buffer, uint8_t* fixed, size_t fixed_capacity, size_t limit);
void BufferFree(Buffer* buffer);
EncodeStatus BufferPut(Buffer* buffer, const void* bytes, size_t size);

// Write the heads of values whose content the caller writes next.
EncodeStatus PutTag(Buffer* buffer, uint8_t tag);
EncodeStatus PutListHead(Buffer* buffer, size_t count);
EncodeStatus PutDictHead(Buffer* buffer, size_t count);
EncodeStatus PutInt(Buffer* buffer, int64_t value);
EncodeStatus PutStr(Buffer* buffer, const char* utf8, size_t size);
EncodeStatus PutCStr(Buffer* buffer, const char* utf8);
EncodeStatus PutNone(Buffer* buffer);

// Appends `object`. On failure the buffer's content is unusable and no Python error is set.
EncodeStatus EncodeObject(Encoder* encoder, PyObject* object);
// As EncodeObject, for an object `depth` levels below the top of the message.
EncodeStatus EncodeNested(Encoder* encoder, PyObject* object, int depth);

// A position in a message that is being read.
typedef struct Cursor {
  const uint8_t* at;
  const uint8_t* end;
} Cursor;

// Each returns 0, or -1 if the next value is of another type. No Python error is set.
int ReadListHead(Cursor* cursor, size_t* count);
int ReadTupleHead(Cursor* cursor, size_t* count);
int ReadDictHead(Cursor* cursor, size_t* count);
int ReadInt(Cursor* cursor, int64_t* value);
int ReadStr(Cursor* cursor, const char** utf8, size_t* size);
int ReadBytes(Cursor* cursor, const uint8_t** bytes, size_t* size);

// Returns the next value as an object: a new reference, or null with a Python error set.
PyObject* DecodeObject(Cursor* cursor);

#endif  // CAISSON_GUEST_BRIDGE_VALUE_CODEC_H_
