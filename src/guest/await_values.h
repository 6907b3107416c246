// One pass over a piece of code that follows values (await_flow.h): from an expression, whose value
// goes somewhere, to the calls and names that give it.
//
// Trust     The tree is hostile; see tree.h.
// Threads   With the interpreter's lock held.
// Lifetime  A Flow lives for one FindAwaited.
#ifndef CAISSON_GUEST_AWAIT_VALUES_H_
#define CAISSON_GUEST_AWAIT_VALUES_H_

#include "guest/await_flow.h"

typedef struct Flow {
  Variables* variables;
  Marks* marks;               // Of this pass.
  _Py_hashtable_t* followed;  // The uses of names that something follows, in this pass.
  int changed;
  int settled;  // All is known: what nothing is known of may be used for anything.
  int depth;
} Flow;

// The value of `expr`, or what is inside of it, goes where `level` says. 0, or -1 with a Python error set,
// as all of these.
int Follow(Flow* flow, expr_ty expr, int level);
// The same of a use of a name, which is followed with that.
int FollowName(Flow* flow, expr_ty name, int level);
int AddMark(Flow* flow, expr_ty* slot, PyObject* function);

// What becomes of the values of a name; one more thing that does. Two different things are anything.
int LevelOfName(const Flow* flow, expr_ty name);
void NoteLevel(Flow* flow, expr_ty name, int level);

// Of an item of what goes where `level` says, and of a collection of that.
int ItemLevel(int level);
int CollectionLevel(int level);

// Whether a value that is put into what `name` holds comes out as it went in, where that is followed.
int Keeps(Flow* flow, expr_ty name);

// Whether it is among the words, which end with a null.
int IsOneOf(PyObject* name, const char* const* words);

#endif  // CAISSON_GUEST_AWAIT_VALUES_H_
