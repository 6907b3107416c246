// What the policy says of modules and of what they have.
//
// A module that is loaded is looked into; of another only the name is known.
//
// Trust     Modules may have been changed by earlier code of the same cell; nothing of them is called.
// Threads   With the interpreter's lock held.
// Lifetime  Names that are made here belong to the tree's arena.
#ifndef CAISSON_GUEST_MODULES_H_
#define CAISSON_GUEST_MODULES_H_

#include "guest/rules.h"

typedef struct ModulePolicy {
  const Rules* rules;
  PyObject* native_packages;  // Borrowed: list of str that may be imported besides, or null.
  PyObject* imported;         // Owned: set of the dotted names that the code imports, or null.
  PyArena* arena;
} ModulePolicy;

// Whether the module of that dotted name may be imported.
Verdict ModuleVerdict(const ModulePolicy* policy, PyObject* dotted);

typedef enum MemberKind {
  kPlainMember,    // A class, a function, a value.
  kUnknownMember,  // Of a module that may not be imported: the import is what is refused.
  kModuleMember,   // A module, which may be used; `name` is its dotted name.
  kSpecialMember,  // A function that reaches attributes by name; `name` is "operator.attrgetter"...
  kRefusedMember,  // `hint` says what to write instead.
  kForeignMember,  // A module that may not be imported; `name` is its name.
  kPrivateMember,  // Starts with an underscore.
  kMissingMember,  // The module has no such name.
} MemberKind;

typedef struct Member {
  MemberKind kind;
  PyObject* name;  // Borrowed from the arena.
  const char* hint;
} Member;

// Whether what is reached by that path is Python's own.
int IsStandard(PyObject* dotted);

// Loads a module of the standard library that the code may import and will, so that it can be looked
// into. None of the code's own runs; a module that cannot be loaded is left for the code to find out.
void LoadStandard(const ModulePolicy* policy, PyObject* dotted);

// What `module.name` is. 0, or -1 with a Python error set.
int LookUpMember(const ModulePolicy* policy, PyObject* module, PyObject* name, Member* member);

// What the module of that standard or loaded member has under its name; null if that cannot be told. Borrowed.
PyObject* LoadedMember(const ModulePolicy* policy, PyObject* dotted);

// The dotted name of the special member that `value` is, or null. Borrowed.
PyObject* SpecialName(PyObject* value);

// Whether `from module import *` brings in nothing but plain members: 1, 0, or -1 with a Python
// error set.
int StarIsPlain(const ModulePolicy* policy, PyObject* module);

// The part before the first dot: a new reference, interned.
PyObject* TopLevelName(PyObject* dotted);

int ModulesStart(void);

#endif  // CAISSON_GUEST_MODULES_H_
