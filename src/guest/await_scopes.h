// The variables of a piece of code: which scope binds them, what they are bound to, and what becomes
// of their values.
//
// Trust     The tree is hostile; all of this is bounded by its size.
// Threads   With the interpreter's lock held.
// Lifetime  Scopes, variables and sources are in the tree's arena. ReleaseVariables frees the tables
//           that find them.
#ifndef CAISSON_GUEST_AWAIT_SCOPES_H_
#define CAISSON_GUEST_AWAIT_SCOPES_H_

#include "guest/tree.h"

// What becomes of a value. Numbers from 0 on: it is awaited (0), or is a collection, of what is
// awaited (1), of such collections (2).
enum { kNothing = -1, kAwaited = 0, kDeepest = 2, kAnything = 3 };

typedef struct AwaitScope {
  ScopeKind kind;
  struct AwaitScope* outer;
} AwaitScope;

// Something that a variable is bound to: what `value` gives in `scope`, or what an import finds.
typedef struct Source {
  expr_ty value;     // Null: an import, of `module`, or of `member` from there.
  PyObject* module;  // By its whole name.
  PyObject* member;  // Null: the module itself.
  AwaitScope* scope;
  struct Source* next;
} Source;

// An answer that is looked for once; while it is, is_asked.
typedef struct Remembered {
  unsigned is_asked : 1;
  unsigned is_known : 1;
  int answer;
} Remembered;

typedef struct Variable {
  const AwaitScope* scope;
  PyObject* name;
  int level;         // What becomes of its values.
  int places;        // How many places of the text bind it,
  int known_places;  // of those, how many have a source.
  Source* sources;
  Remembered meaning, is_collection;  // For await_meanings.h.
} Variable;

typedef struct Variables {
  PyArena* arena;
  PyObject* tools;          // Of the request; may be null.
  _Py_hashtable_t* scopes;  // By the address of their node.
  _Py_hashtable_t* table;   // All variables.
  AwaitScope module;
  AwaitScope shared;  // No scope, but the place to note what `global` and `nonlocal` mention.
  AwaitScope* current;
  const Variable* star;  // What `from m import *` binds, under that name; or null.
  int loses_track;       // The code looks at its variables in other ways than by their names.
} Variables;

// Finds all variables. 0, or -1 with a Python error set; ReleaseVariables either way.
int FindVariables(Variables* variables, asdl_stmt_seq* body, PyObject* tools, PyArena* arena);
void ReleaseVariables(Variables* variables);

// The scope that `node` makes, in the current one; null with a Python error set.
AwaitScope* ScopeOf(Variables* variables, ScopeKind kind, const void* node);
// For walks: makes it the current one, and back.
int OpenAwaitScope(Variables* variables, ScopeKind kind, const void* node);
void CloseAwaitScope(Variables* variables);

// What `name` means in `scope`; null if this piece of code does not bind it.
Variable* VariableOf(const Variables* variables, const AwaitScope* scope, PyObject* name);
// The variable that exactly this scope binds, or null.
Variable* VariableIn(const Variables* variables, const AwaitScope* scope, PyObject* name);
// Whether nothing but its name in its own scope and those inside reaches it.
int IsTracked(const Variables* variables, const Variable* variable);

// What becomes of the values of `name`, a name in the current scope.
int LevelOf(const Variables* variables, PyObject* name);

#endif  // CAISSON_GUEST_AWAIT_SCOPES_H_
