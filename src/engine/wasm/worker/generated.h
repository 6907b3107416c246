// Declares the guest as the build made it: CPython and the guest logic, translated from WebAssembly
// to C. tools/guest writes the included header; its names are those of wasm2c.
//
// Trust     Generated code runs hostile programs; generated_runtime.h explains what confines it.
// Threads   The worker's only thread.
// Lifetime  Static, except for the one instance, which is part of the window (context.h).
#pragma once

#include <python.h>
