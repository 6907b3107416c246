// The modules and variables of a foreign interpreter as the judge sees them. The policy looks into
// modules of the standard library, and at what earlier code of a session left. Both are in another
// process, so they are described, and objects of the same nature stand for them here.
//
// Trust     Descriptions are hostile once code has run in the foreign interpreter. Then they can
//           mislead the policy, which is feedback, about that interpreter only.
// Threads   With the interpreter lock held.
// Lifetime  Modules stay until the next MirrorUpdate.
#ifndef CAISSON_GUEST_NATIVE_MIRROR_H_
#define CAISSON_GUEST_NATIVE_MIRROR_H_

#include "guest/python.h"

// Asks the foreign interpreter and returns its answer, or null with a Python error set.
// "missing": whether it lacks that top-level module, a bool. "module": imports the module and
// describes it, as a dict; None if it cannot be imported. The dict has
//   "name"       str or None: its __name__
//   "other", "functions", "types", "fixed"  str: the names of its members of each nature, one per
//                line; fixed types cannot be changed
//   "modules"    list of tuples (name, __name__ or None, name in sys.modules or None)
//   "classes"    list of tuples (name, has fields, names or None): types with __match_args__
//   "all"        list of str or None
PyObject* AskForeign(const char* what, PyObject* name);

// From here on, this interpreter imports the modules of the foreign one.
int MirrorStart(void);

// Forgets all modules and takes over the rest of what the foreign interpreter sent with a tree:
//   "loaded"     dict of modules that are not of the standard library, described as above
//   "globals"    dict: of the names in the tree, those that are bound in __main__, each described
//                as a tuple ("other",), ("function",), ("type",), ("fixed",), ("object",) for an
//                object of a class of the code, ("module", __name__, name in sys.modules or None),
//                ("class", has fields, names or None), or ("member", module, name)
//   "builtins"   str: the names of all builtins, one per line
//   "standard"   str: the top-level names of the standard library, one per line
int MirrorUpdate(PyObject* message);

#endif  // CAISSON_GUEST_NATIVE_MIRROR_H_
