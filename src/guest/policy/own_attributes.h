// Under the strict policy, our own functions read some attributes, because only at run time is it
// known what object they are read from:
//
//   x.__dict__       Shown for objects and classes of the code, and for objects of the library. Not
//                    shown for modules and Python's own classes, which hold everything that the
//                    check protects, nor if the dict contains a module.
//   x.obj            Anything but a module, of anything but an AttributeError, whose obj is the
//                    object that Python looked into. The exceptions themselves hide it, so that no
//                    way through other objects leads to it.
//   x.os, x.sys, x.socket  Anything but a module.
//   x.query, x.eval  If they are not called: anything but functions of packages, which may evaluate
//                    text.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter lock held.
// Lifetime  New nodes are allocated in the arena of the tree.
#ifndef CAISSON_GUEST_POLICY_OWN_ATTRIBUTES_H_
#define CAISSON_GUEST_POLICY_OWN_ATTRIBUTES_H_

#include "guest/python.h"

// Call once, after the interpreter has started.
int OwnAttributesStart(void);

// kHideObj: AttributeError.obj is None. kShowAll: it is the real object.
typedef enum ExceptionsShow { kHideObj, kShowAll } ExceptionsShow;
void GuardExceptions(ExceptionsShow show);

// Returns whether `name`, which is interned, is one of them when it is read with a dot; excludes
// query and eval.
int IsOwnAttribute(PyObject* name);

// Rewrites x.name, where it is read, to <own name>(x). Returns 0, or -1 with a Python error set.
int RewriteOwnAttributes(mod_ty tree, PyArena* arena);

#endif  // CAISSON_GUEST_POLICY_OWN_ATTRIBUTES_H_
