// Determines what an expression certainly is, from its text and from the globals that earlier code
// of a session left: asyncio, one of its functions, or a builtin that keeps values or passes them
// on.
//
// Trust     The tree is hostile, and so are the globals; no code of theirs is called.
// Threads   With the interpreter lock held.
// Lifetime  As Variables.
#ifndef CAISSON_GUEST_AWAITS_AWAIT_MEANINGS_H_
#define CAISSON_GUEST_AWAITS_AWAIT_MEANINGS_H_

#include "guest/awaits/await_scopes.h"

typedef enum Meaning {
  kUnknown,
  kBuiltins,
  kModules,
  kAsyncio,
  kCollections,
  // Functions that take awaitables: as their first argument, as each argument, as the items of
  // their first argument.
  kTakesFirst,
  kTakesEach,
  kTakesItems,
  // Objects that have such functions, and the ways to get them.
  kGroupClass,
  kGroup,
  kLoopGetter,
  kLoop,
  kRunnerClass,
  kRunner,
  // Functions that only do the following with the items of a collection: put them into a new one,
  // make a new one, pass them on, count them, call a function with them, or return them in tuples.
  kCollects,
  kMakesCollection,
  kPassesOn,
  kCounts,
  kMaps,
  kZips,
  kEnumerates,
} Meaning;

// The meaning of an expression in the current scope.
Meaning MeaningOf(Variables* variables, expr_ty expr);

static inline int TakesAwaitables(Meaning meaning) {
  return meaning == kTakesFirst || meaning == kTakesEach || meaning == kTakesItems;
}

// Returns whether it is called like a function of asyncio that takes an awaitable: tg.create_task,
// whatever tg is. Very common names are excluded.
int IsCalledLikeTaker(expr_ty func);

// Returns whether it gives a builtin list, tuple, set, dict or deque, so that no method of the code
// sees the items. This holds for a name that is only bound to new collections, so that no other
// name refers to them.
int IsCollection(Variables* variables, expr_ty expr);

#endif  // CAISSON_GUEST_AWAITS_AWAIT_MEANINGS_H_
