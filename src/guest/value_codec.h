// Python objects to and from the bytes of wire/value.h, directly, without a tree in between.
//
// Trust     The objects are hostile: no code of theirs runs here, since subclasses of the plain
//           types are read through their base storage. The bytes come from the holder and are
//           believed, but checked all the same, so that a bug there cannot corrupt the interpreter.
// Threads   With the interpreter's lock held.
// Lifetime  A Buffer borrows `fixed` for as long as it lives and frees what it allocated itself.
#ifndef CAISSON_GUEST_VALUE_CODEC_H_
#define CAISSON_GUEST_VALUE_CODEC_H_

#include "guest/python.h"

// Bytes that grow up to a limit, first in storage the caller lends.
typedef struct Buffer {
  uint8_t* data;
  size_t size;
  size_t capacity;
  size_t limit;
  uint8_t* fixed;
  size_t fixed_capacity;
  int failed;  // Something did not fit; what follows is worthless.
} Buffer;

typedef enum EncodeStatus {
  kEncoded = 0,
  kTooBig,       // Beyond the buffer's limit.
  kTooDeep,      // Nested beyond the depth that both sides agree on; a cycle is too.
  kUnsupported,  // Something that has no encoding; Encoder.culprit says what.
  kOutOfMemory,
} EncodeStatus;

typedef enum EncodeMode {
  kAnyValue,   // Whatever wire/value.h has.
  kJsonValue,  // Only what JSON can hold.
} EncodeMode;

typedef struct Encoder {
  Buffer* out;
  EncodeMode mode;
  PyObject* culprit;  // Borrowed: what could not be encoded.
} Encoder;

#define CAISSON_MAX_DEPTH 200
// Python's json reads no int of more digits (wire/value.h). 10**4300, the first such int, has so many bits.
#define CAISSON_MAX_JSON_DIGITS 4300
#define CAISSON_MAX_JSON_INT_BITS 14285

void BufferInit(Buffer* buffer, uint8_t* fixed, size_t fixed_capacity, size_t limit);
void BufferFree(Buffer* buffer);
EncodeStatus BufferPut(Buffer* buffer, const void* bytes, size_t size);

// The heads of values whose content the caller writes next.
EncodeStatus PutTag(Buffer* buffer, uint8_t tag);
EncodeStatus PutListHead(Buffer* buffer, size_t count);
EncodeStatus PutDictHead(Buffer* buffer, size_t count);
EncodeStatus PutInt(Buffer* buffer, int64_t value);
EncodeStatus PutStr(Buffer* buffer, const char* utf8, size_t size);
EncodeStatus PutCStr(Buffer* buffer, const char* utf8);
EncodeStatus PutNone(Buffer* buffer);

// Appends `object`. On failure the buffer's content is unusable and no Python error is set.
EncodeStatus EncodeObject(Encoder* encoder, PyObject* object);
// As EncodeObject, for what goes `depth` levels below the top of the message.
EncodeStatus EncodeNested(Encoder* encoder, PyObject* object, int depth);

// A place in a message that is being read.
typedef struct Cursor {
  const uint8_t* at;
  const uint8_t* end;
} Cursor;

// Each returns 0, or -1 if that is not what comes next. No Python error is set.
int ReadListHead(Cursor* cursor, size_t* count);
int ReadTupleHead(Cursor* cursor, size_t* count);
int ReadDictHead(Cursor* cursor, size_t* count);
int ReadInt(Cursor* cursor, int64_t* value);
int ReadStr(Cursor* cursor, const char** utf8, size_t* size);
int ReadBytes(Cursor* cursor, const uint8_t** bytes, size_t* size);

// The next value as an object: a new reference, or null with a Python error set.
PyObject* DecodeObject(Cursor* cursor);

#endif  // CAISSON_GUEST_VALUE_CODEC_H_
