// Under the strict policy, some attributes are asked for by functions of ours, since only while the code runs can
// be told what they are read from:
//
//   x.__dict__          What objects and classes of the code's own hold is shown, and what objects of the library hold; what
//                       modules and Python's own classes hold, which is all that the check keeps away from, is not, nor
//                       any dict with a module in it.
//   x.obj               Anything but a module, of anything but an AttributeError, whose obj is whatever Python looked into:
//                       that is kept by the exceptions themselves, so that no way through other objects leads to it.
//   x.os, x.sys, x.socket  Anything but a module.
//   x.query, x.eval     Where they are not called: anything but functions of packages, which may evaluate text.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter's lock held.
// Lifetime  New nodes go into the arena of the tree.
#ifndef CAISSON_GUEST_OWN_ATTRIBUTES_H_
#define CAISSON_GUEST_OWN_ATTRIBUTES_H_

#include "guest/python.h"

// Once, after the interpreter has started.
int OwnAttributesStart(void);

// Whether AttributeError.obj is what it is, or None.
typedef enum ExceptionsShow { kHideObj, kShowAll } ExceptionsShow;
void GuardExceptions(ExceptionsShow show);

// Whether `name`, which is interned, is one of them where it is read with a dot; query and eval are not told.
int IsOwnAttribute(PyObject* name);

// Rewrites x.name, where it is read, to <own name>(x). 0, or -1 with a Python error set.
int RewriteOwnAttributes(mod_ty tree, PyArena* arena);

#endif  // CAISSON_GUEST_OWN_ATTRIBUTES_H_
