// Decodes the request that starts a run, and makes Python objects only where they are needed.
//
// Trust     The format comes from the holder and is trusted; the code in it is hostile.
// Threads   With the interpreter lock held.
// Lifetime  `code` stays valid until the next TakeRequest, and is followed by a NUL.
#ifndef CAISSON_GUEST_BRIDGE_REQUEST_H_
#define CAISSON_GUEST_BRIDGE_REQUEST_H_

#include "guest/python.h"

typedef struct Request {
  const char* code;
  size_t code_size;
  size_t result_bytes;
  PyObject* file;             // Owned: str.
  PyObject* tools;            // Owned: list of str or dict (tool_spec.h), or null.
  PyObject* policy;           // Owned: dict of the lists that differ from the strict ones, or null.
  PyObject* native_packages;  // Owned: list of str, or null.
  PyObject* environment;      // Owned: dict of str, or null.
  int is_strict;              // The code is checked against the policy.
  int is_check;               // Nothing is executed.
  int keeps_cell;             // Another run follows in this cell.
} Request;

// Returns 0, or -1 if the holder sent no request or an invalid one.
int TakeRequest(Request* request);
void ReleaseRequest(Request* request);

// Returns 0 if the code is text that can be parsed; otherwise -1 with a SyntaxError set.
int CheckSource(const Request* request);

#endif  // CAISSON_GUEST_BRIDGE_REQUEST_H_
