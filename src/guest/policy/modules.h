// The rules of the policy for modules and their members.
//
// A loaded module is inspected. Of any other module only the name is known.
//
// Trust     Earlier code of the same cell may have changed modules; none of their code is called.
// Threads   With the interpreter lock held.
// Lifetime  Names that are made here belong to the tree's arena.
#ifndef CAISSON_GUEST_POLICY_MODULES_H_
#define CAISSON_GUEST_POLICY_MODULES_H_

#include "guest/policy/rules.h"

typedef struct ModulePolicy {
  const Rules* rules;
  // Borrowed: list of str, further modules that may be imported; or null.
  PyObject* native_packages;
  PyObject* imported;  // Owned: set of the dotted names that the code imports, or null.
  PyArena* arena;
} ModulePolicy;

// Returns whether the module with that dotted name may be imported.
Verdict ModuleVerdict(const ModulePolicy* policy, PyObject* dotted);

typedef enum MemberKind {
  kPlainMember,    // A class, a function, a value.
  kUnknownMember,  // Of a module that may not be imported: the import itself is refused.
  kModuleMember,   // A module that may be used; `name` is its dotted name.
  // A function that accesses attributes by name; `name` is "operator.attrgetter"...
  kSpecialMember,
  kRefusedMember,  // Refused; `hint` says what to write instead.
  kForeignMember,  // A module that may not be imported; `name` is its name.
  kPrivateMember,  // Starts with an underscore.
  kMissingMember,  // The module has no such name.
} MemberKind;

typedef struct Member {
  MemberKind kind;
  PyObject* name;  // Borrowed from the arena.
  const char* hint;
} Member;

// Returns whether the object with that path belongs to the standard library.
int IsStandard(PyObject* dotted);

// Loads a module of the standard library that the code may and will import, so that it can be
// inspected. Runs none of the code. If a module cannot be loaded, the code's own import will fail.
void LoadStandard(const ModulePolicy* policy, PyObject* dotted);

// Finds out what `module.name` is. Returns 0, or -1 with a Python error set.
int LookUpMember(const ModulePolicy* policy, PyObject* module, PyObject* name, Member* member);

// Returns the object that the module of that standard or loaded member has under its name; null if
// unknown. Borrowed.
PyObject* LoadedMember(const ModulePolicy* policy, PyObject* dotted);

// Returns the dotted name of the special member that `value` is, or null. Borrowed.
PyObject* SpecialName(PyObject* value);

// Returns 1 if `from module import *` imports only plain members, 0 if not, or -1 with a Python
// error set.
int StarIsPlain(const ModulePolicy* policy, PyObject* module);

// Returns the part before the first dot: a new reference, interned.
PyObject* TopLevelName(PyObject* dotted);

int ModulesStart(void);

#endif  // CAISSON_GUEST_POLICY_MODULES_H_
