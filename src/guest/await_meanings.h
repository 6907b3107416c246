// What an expression certainly is, as far as its text and what earlier code of a session left behind
// tell: asyncio, what it offers, or one of the builtins that keep values or pass them on.
//
// Trust     The tree is hostile, and so are the globals; nothing of theirs is called.
// Threads   With the interpreter's lock held.
// Lifetime  As Variables.
#ifndef CAISSON_GUEST_AWAIT_MEANINGS_H_
#define CAISSON_GUEST_AWAIT_MEANINGS_H_

#include "guest/await_scopes.h"

typedef enum Meaning {
  kUnknown,
  kBuiltins,
  kModules,
  kAsyncio,
  kCollections,
  // Functions that take something awaitable: as their first argument, as each, as the items of
  // their first.
  kTakesFirst,
  kTakesEach,
  kTakesItems,
  // What has such functions, and how it is had.
  kGroupClass,
  kGroup,
  kLoopGetter,
  kLoop,
  kRunnerClass,
  kRunner,
  // Functions that do nothing with the items of a collection but: put them into a new one, make a
  // new one, pass them on, count them, call a function with them; or give them in tuples.
  kCollects,
  kMakesCollection,
  kPassesOn,
  kCounts,
  kMaps,
  kZips,
  kEnumerates,
} Meaning;

// Of an expression in the current scope.
Meaning MeaningOf(Variables* variables, expr_ty expr);

static inline int TakesAwaitables(Meaning meaning) {
  return meaning == kTakesFirst || meaning == kTakesEach || meaning == kTakesItems;
}

// Whether it is called like a function of asyncio that takes something awaitable: tg.create_task, of
// whatever tg is. Names that are too common are left out.
int IsCalledLikeTaker(expr_ty func);

// Whether it gives a list, tuple, set, dict or deque of Python's own: no method of the code's own
// gets to see what is put into it. A name does if it is bound to nothing but new ones, so that it
// is the only name of them that nobody looks at.
int IsCollection(Variables* variables, expr_ty expr);

#endif  // CAISSON_GUEST_AWAIT_MEANINGS_H_
