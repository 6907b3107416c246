// Which names a piece of code binds, in which scope, and to what, as far as its text tells.
//
// Python's own rules for scopes, kept exactly where it matters: a name that the check takes for a
// local of a function must never mean a module or a builtin when the code runs.
//
// Trust     The tree is hostile; everything here is bounded by its size.
// Threads   With the interpreter's lock held.
// Lifetime  All of it is in the tree's arena and goes with it.
#ifndef CAISSON_GUEST_NAMES_H_
#define CAISSON_GUEST_NAMES_H_

#include "guest/tree.h"

typedef enum ThingKind {
  kModule,   // `name` is its dotted name.
  kSpecial,  // A function of a module that has rules of its own; `name` is its dotted name.
  kText,     // `name` is the str itself.
  kSame,     // Whatever `expr` is in `scope`.
  kMember,   // Something else that a module has; `name` is its dotted name.
  kClass,    // What the class statement `stmt` of `scope` defines.
  kMade,     // What the call `expr` in `scope` gives.
  kOther,    // Nothing that matters here, or nothing that can be told.
} ThingKind;

// One of the things a name is bound to somewhere in its scope.
typedef struct Thing {
  ThingKind kind;
  PyObject* name;
  expr_ty expr;
  stmt_ty stmt;
  struct Scope* scope;
  struct Thing* next;
} Thing;

// A stretch of the source, by line and offset, in which a name is certainly bound.
typedef struct Stretch {
  int from_line, from_offset;
  int to_line, to_offset;
  struct Stretch* next;
} Stretch;

typedef struct Binding {
  struct Scope* scope;
  PyObject* name;
  Thing* things;
  Stretch* sure;
  unsigned is_global : 1;    // Means the module's name.
  unsigned is_nonlocal : 1;  // Means the enclosing function's.
  unsigned is_deleted : 1;   // May be unbound again.
  unsigned is_caught : 1;    // An exception, at least once: `except E as name`.
  unsigned is_followed : 1;  // Being looked into just now: a cycle ends here.
  struct Binding* next;
} Binding;

typedef struct Scope {
  struct Scope* parent;
  ScopeKind kind;
  const void* node;
  struct Scope* next;
} Scope;

enum { kNameBuckets = 128, kScopeBuckets = 32 };

typedef struct Names {
  PyArena* arena;
  Scope module;
  Scope nonlocals;  // No scope, but the place to note which names any `nonlocal` mentions.
  Scope* current;
  Binding* bindings[kNameBuckets];
  Scope* scopes[kScopeBuckets];
} Names;

void NamesInit(Names* names, PyArena* arena);

// Opens the scope that `node` makes, as a child of the current one. The second time it is the same
// scope again. 0, or -1 with a Python error set.
int ScopeOpen(Names* names, ScopeKind kind, const void* node);
void ScopeClose(Names* names);

// The binding of `name` in exactly that scope, or null.
Binding* FindBinding(const Names* names, const Scope* scope, PyObject* name);
// The same, made if need be; null with a Python error set if there is no memory.
Binding* MakeBinding(Names* names, Scope* scope, PyObject* name);

// Where a plain assignment of `name` in the current scope goes: global and nonlocal are followed.
Binding* BindingForStore(Names* names, PyObject* name);
// Where a walrus goes: comprehensions have no such names of their own.
Binding* BindingForWalrus(Names* names, PyObject* name);

int AddThing(Names* names, Binding* binding, Thing thing);
int AddStretch(Names* names, Binding* binding, Stretch stretch);
int IsSureAt(const Binding* binding, int line, int offset);

#endif  // CAISSON_GUEST_NAMES_H_
