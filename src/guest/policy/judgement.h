// Applies the policy in a run: it sees the tree as it was parsed, before anything is rewritten,
// compiled or executed (I7).
//
// Trust     The tree is hostile.
// Threads   With the interpreter lock held.
// Lifetime  A Judgement lives from JudgementInit to JudgementRelease.
#ifndef CAISSON_GUEST_POLICY_JUDGEMENT_H_
#define CAISSON_GUEST_POLICY_JUDGEMENT_H_

#include "guest/bridge/request.h"
#include "guest/policy/findings.h"
#include "guest/policy/imports.h"

typedef struct Judgement {
  Findings* findings;
  Imports imports;
} Judgement;

void JudgementInit(Judgement* judgement);
// Returns 0 with the judgement, or -1 with a Python error set; the code is refused then too.
int PolicyJudge(Judgement* judgement, const Request* request, mod_ty tree, PyArena* arena);
void JudgementRelease(Judgement* judgement);

// Returns whether the code may run here.
int MayRun(const Judgement* judgement);

int PolicyStart(void);

#endif  // CAISSON_GUEST_POLICY_JUDGEMENT_H_
