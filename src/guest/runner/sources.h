// The guest logic in Python, for interpreters that cannot be linked: as text, made by
// tools/guest/pack_runner.py from this folder and python/caisson.
//
// Trust     Constants of ours.
// Threads   Constants.
// Lifetime  Constants.
#ifndef CAISSON_GUEST_RUNNER_SOURCES_H_
#define CAISSON_GUEST_RUNNER_SOURCES_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The argument of -c with which such an interpreter is started: bootstrap.py.
extern const char caisson_runner_bootstrap[];
// A marshalled dict of module names to (is a package, text).
extern const char* const caisson_runner_sources;
extern const size_t caisson_runner_size;

#ifdef __cplusplus
}
#endif

#endif  // CAISSON_GUEST_RUNNER_SOURCES_H_
