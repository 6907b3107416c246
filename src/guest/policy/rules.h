// The lists that a check uses: those of policy/lists.h, or an operator's changes to them.
//
// Trust     Lists come from the holder.
// Threads   With the interpreter lock held.
// Lifetime  `strict_rules` is made by RulesStart and part of the snapshot; rules read from a
//           request live until RulesRelease.
#ifndef CAISSON_GUEST_POLICY_RULES_H_
#define CAISSON_GUEST_POLICY_RULES_H_

#include "guest/python.h"
#include "policy/lists.h"

typedef struct Rules {
  // Dicts of str to True (allowed) or False (refused); missing names are not listed.
  PyObject* imports;
  PyObject* builtins;
  PyObject* os_attributes;
  PyObject* attributes;
  // One bit for each allowed kind of node.
  uint32_t stmts;
  uint32_t exprs;
  uint32_t patterns;
} Rules;

extern Rules strict_rules;
int RulesStart(void);

// Reads the rules of the request's "policy" dict. Returns 0, or -1 if its format is invalid.
int RulesRead(Rules* rules, PyObject* policy);
void RulesRelease(Rules* rules);

typedef enum Verdict { kUnlisted, kAllowed, kRefused } Verdict;
Verdict LookUp(PyObject* list, PyObject* name);

// Returns the hint for `name`, or `otherwise`.
const char* HintFor(const CaissonRefusal* refusals, PyObject* name, const char* otherwise);

const char* StmtName(stmt_ty stmt);
const char* ExprName(expr_ty expr);
const char* PatternName(pattern_ty pattern);

#endif  // CAISSON_GUEST_POLICY_RULES_H_
