// Records which names a piece of code binds, in which scope, and to what, as far as its text shows.
//
// It follows Python's own rules for scopes exactly where that matters: a name that the check takes
// for a local of a function must never mean a module or a builtin at run time.
//
// Trust     The tree is hostile; all work is bounded by its size.
// Threads   With the interpreter lock held.
// Lifetime  Everything is in the tree's arena and is freed with it.
#ifndef CAISSON_GUEST_POLICY_NAMES_H_
#define CAISSON_GUEST_POLICY_NAMES_H_

#include "guest/tree.h"

typedef enum ThingKind {
  kModule,   // `name` is its dotted name.
  kSpecial,  // A function of a module with special rules; `name` is its dotted name.
  kText,     // A text; `name` is the str itself.
  kSame,     // The same as `expr` in `scope`.
  kMember,   // Another member of a module; `name` is its dotted name.
  kClass,    // The class that the class statement `stmt` of `scope` defines.
  kMade,     // The result of the call `expr` in `scope`.
  kOther,    // Irrelevant here, or unknown.
} ThingKind;

// One of the things that a name is bound to somewhere in its scope.
typedef struct Thing {
  ThingKind kind;
  PyObject* name;
  expr_ty expr;
  stmt_ty stmt;
  struct Scope* scope;
  struct Thing* next;
} Thing;

// A range of the source, by line and offset, in which a name is certainly bound.
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
  unsigned is_followed : 1;  // Currently being evaluated: a cycle ends here.
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
  Scope nonlocals;  // Not a scope: records the names that any `nonlocal` mentions.
  Scope* current;
  Binding* bindings[kNameBuckets];
  Scope* scopes[kScopeBuckets];
} Names;

void NamesInit(Names* names, PyArena* arena);

// Opens the scope that `node` makes, as a child of the current one. A second call opens the same
// scope again. Returns 0, or -1 with a Python error set.
int ScopeOpen(Names* names, ScopeKind kind, const void* node);
void ScopeClose(Names* names);

// Returns the binding of `name` in exactly that scope, or null.
Binding* FindBinding(const Names* names, const Scope* scope, PyObject* name);
// The same, but makes the binding if necessary; null with a Python error set if there is no memory.
Binding* MakeBinding(Names* names, Scope* scope, PyObject* name);

// Returns the binding that a plain assignment of `name` in the current scope changes; follows
// global and nonlocal.
Binding* BindingForStore(Names* names, PyObject* name);
// Returns the binding that a walrus changes: it does not bind names of a comprehension.
Binding* BindingForWalrus(Names* names, PyObject* name);

int AddThing(Names* names, Binding* binding, Thing thing);
int AddStretch(Names* names, Binding* binding, Stretch stretch);
int IsSureAt(const Binding* binding, int line, int offset);

#endif  // CAISSON_GUEST_POLICY_NAMES_H_
