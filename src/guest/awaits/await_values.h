// One pass over a piece of code that follows values (await_flow.h): from an expression whose value
// is used to the calls and names that give the value.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter lock held.
// Lifetime  A Flow lives for one FindAwaited.
#ifndef CAISSON_GUEST_AWAITS_AWAIT_VALUES_H_
#define CAISSON_GUEST_AWAITS_AWAIT_VALUES_H_

#include "guest/awaits/await_flow.h"

typedef struct Flow {
  Variables* variables;
  Marks* marks;               // Of this pass.
  _Py_hashtable_t* followed;  // The uses of names that are followed in this pass.
  int changed;
  int settled;  // The analysis is complete: unknown uses count as any use.
  int depth;
} Flow;

// Records that the value of `expr`, or its items, are used as `level` says. All functions here
// return 0, or -1 with a Python error set.
int Follow(Flow* flow, expr_ty expr, int level);
// The same for a use of a name, which is followed as well.
int FollowName(Flow* flow, expr_ty name, int level);
int AddMark(Flow* flow, expr_ty* slot, PyObject* function);

// LevelOfName returns the use of the values of a name; NoteLevel adds a use. Two different uses are
// kAnything.
int LevelOfName(const Flow* flow, expr_ty name);
void NoteLevel(Flow* flow, expr_ty name, int level);

// The level of an item of a value with this level, and of a collection of such values.
int ItemLevel(int level);
int CollectionLevel(int level);

// Returns whether a value put into the collection `name` comes out unchanged, where that is
// followed.
int Keeps(Flow* flow, expr_ty name);

// Returns whether it is one of the words, a list that ends with a null.
int IsOneOf(PyObject* name, const char* const* words);

#endif  // CAISSON_GUEST_AWAITS_AWAIT_VALUES_H_
