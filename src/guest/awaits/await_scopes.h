// The variables of a piece of code: the scopes that bind them, the values they are bound to, and
// the uses of those values.
//
// Trust     The tree is hostile; all work is bounded by its size.
// Threads   With the interpreter lock held.
// Lifetime  Scopes, variables and sources are in the tree's arena. ReleaseVariables frees the
//           tables that find them.
#ifndef CAISSON_GUEST_AWAITS_AWAIT_SCOPES_H_
#define CAISSON_GUEST_AWAITS_AWAIT_SCOPES_H_

#include "guest/tree.h"

// The use of a value. Numbers from 0 on: it is awaited (0), or is a collection of awaited values
// (1), or a collection of such collections (2).
enum { kNothing = -1, kAwaited = 0, kDeepest = 2, kAnything = 3 };

typedef struct AwaitScope {
  ScopeKind kind;
  struct AwaitScope* outer;
} AwaitScope;

// A value that a variable is bound to: the result of `value` in `scope`, or an import.
typedef struct Source {
  expr_ty value;     // Null: an import of `module`, or of its `member`.
  PyObject* module;  // The full name.
  PyObject* member;  // Null: the module itself.
  AwaitScope* scope;
  struct Source* next;
} Source;

// An answer that is computed once; is_asked while it is being computed.
typedef struct Remembered {
  unsigned is_asked : 1;
  unsigned is_known : 1;
  int answer;
} Remembered;

typedef struct Variable {
  const AwaitScope* scope;
  PyObject* name;
  int level;         // The use of its values.
  int places;        // The number of places in the text that bind it.
  int known_places;  // The number of those that have a source.
  Source* sources;
  Remembered meaning, is_collection;  // For await_meanings.h.
} Variable;

typedef struct Variables {
  PyArena* arena;
  PyObject* tools;          // From the request; may be null.
  _Py_hashtable_t* scopes;  // Keyed by the address of their node.
  _Py_hashtable_t* table;   // All variables.
  AwaitScope module;
  AwaitScope shared;  // Not a scope: records the names that `global` and `nonlocal` mention.
  AwaitScope* current;
  const Variable* star;  // The names that `from m import *` binds, or null.
  int loses_track;       // The code accesses its variables in other ways than by name.
} Variables;

// Finds all variables. Returns 0, or -1 with a Python error set. Call ReleaseVariables in both
// cases.
int FindVariables(Variables* variables, asdl_stmt_seq* body, PyObject* tools, PyArena* arena);
void ReleaseVariables(Variables* variables);

// Returns the scope that `node` makes inside the current one; null with a Python error set.
AwaitScope* ScopeOf(Variables* variables, ScopeKind kind, const void* node);
// For walks: makes it the current one, and restores the previous one.
int OpenAwaitScope(Variables* variables, ScopeKind kind, const void* node);
void CloseAwaitScope(Variables* variables);

// Returns the variable that `name` means in `scope`; null if this piece of code does not bind it.
Variable* VariableOf(const Variables* variables, const AwaitScope* scope, PyObject* name);
// Returns the variable that exactly this scope binds, or null.
Variable* VariableIn(const Variables* variables, const AwaitScope* scope, PyObject* name);
// Returns whether it is reached only by its name in its own scope and the scopes inside.
int IsTracked(const Variables* variables, const Variable* variable);

// Returns the use of the values of `name`, a name in the current scope.
int LevelOf(const Variables* variables, PyObject* name);

#endif  // CAISSON_GUEST_AWAITS_AWAIT_SCOPES_H_
