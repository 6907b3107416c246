// Under the strict policy, some attributes are asked for by functions of ours, since only while the code runs can
// be told what they are read from:
//
//   x.__dict__          What an object of the code's own holds is shown; what modules and Python's own classes hold,
//                       which is all that the check keeps away from, is not.
//   x.obj               Of anything but an exception: AttributeError.obj is whatever Python looked into.
//   x.os, x.sys, x.socket  Anything but a module.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter's lock held.
// Lifetime  New nodes go into the arena of the tree.
#ifndef CAISSON_GUEST_OWN_ATTRIBUTES_H_
#define CAISSON_GUEST_OWN_ATTRIBUTES_H_

#include "guest/python.h"

// Once, after the interpreter has started.
int OwnAttributesStart(void);

// Whether `name`, which is interned, is one of them where it is read with a dot.
int IsOwnAttribute(PyObject* name);

// Rewrites x.name, where it is read, to <own name>(x). 0, or -1 with a Python error set.
int RewriteOwnAttributes(mod_ty tree, PyArena* arena);

#endif  // CAISSON_GUEST_OWN_ATTRIBUTES_H_
