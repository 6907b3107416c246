// The guest as the build made it: CPython and the guest logic, translated from WebAssembly to C. The
// header is written by tools/guest; its names are wasm2c's.
//
// Trust     Generated code runs hostile programs; see generated_runtime.h for what keeps it inside.
// Threads   The worker's one thread.
// Lifetime  Static, but for the one instance, which is part of the window (context.h).
#pragma once

#include <python.h>
