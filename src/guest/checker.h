// The parts of the check, for one another: check.c (statements and the walk), check_values.c (names
// and attributes), check_calls.c (calls), check_packages.c (what packages offer), check_patterns.c
// (class patterns).
//
// Trust     As check.h.
// Threads   As check.h.
// Lifetime  A Checker lives for one CheckTree.
#ifndef CAISSON_GUEST_CHECKER_H_
#define CAISSON_GUEST_CHECKER_H_

#include "guest/check.h"
#include "guest/names.h"

typedef struct Checker {
  const CheckOptions* options;
  ModulePolicy modules;
  const Rules* rules;
  Findings* findings;
  Names names;
  TreeVisitor* visitor;
  int steps;           // Taken after aliases, over all names.
  int classes;         // How many class bodies we are inside of.
  int line, offset;    // Of the node visited last, for what has no place of its own.
  expr_ty done;        // Checked already: the walk leaves it out.
  expr_ty formatting;  // A `format` whose text CheckCall sees to.
  expr_ty called;      // A callee whose arguments CheckCall sees to.
  expr_ty excused[2];  // May be a module, since what is around makes no value of it.
} Checker;

// What an expression may be, as far as it matters. Names are borrowed.
enum { kMaxPossible = 8 };
typedef struct Possible {
  int count;
  struct {
    ThingKind kind;  // kModule or kSpecial.
    PyObject* name;
  } of[kMaxPossible];
  int too_many;       // More than fit, or aliases of aliases without end.
  PyObject* builtin;  // The builtin it may be, or null.
  PyObject* left;     // The module that earlier code of a session left under this name, or null.
} Possible;

// Aliases of aliases: code has a few, and an attacker as many as fit into the source, each of them
// leading to all the others.
enum { kMaxAliasDepth = 40, kMaxAliasSteps = 200 * 1000 };

// Each returns 0, or -1 with a Python error set.

// What `expr` may be, for an alias of it: nothing is reported, since that happens where it stands.
int Evaluate(Checker* checker, Scope* scope, expr_ty expr, Possible* possible, int depth);
// Checks an expression and says what it may be, without asking whether it may be used as a value.
int CheckOperand(Checker* checker, expr_ty expr, Possible* possible);
// A Name or Attribute in a place where it is a value.
int CheckValue(Checker* checker, expr_ty expr);
// Whether `name` may be read from (written to, deleted from) something unknown at `place`.
// `receiver` may be null.
int CheckAttributeName(Checker* checker, expr_ty place, expr_ty receiver, PyObject* name);
// The same for `name` of each thing that `possible` is.
int CheckMembers(Checker* checker, expr_ty place, expr_ty receiver, const Possible* of,
                 PyObject* name, Possible* result);
// What is to be said of a member that may not be used; nothing of one that may.
int RefuseMember(Checker* checker, int line, int offset, PyObject* module, PyObject* name,
                 const Member* member);
int CheckCall(Checker* checker, expr_ty call);
// What is reached through packages that are not Python's own, and calls that make them execute text.
int CheckBelowPackage(Checker* checker, expr_ty attribute);
int CheckPackageCall(Checker* checker, expr_ty call);
// Whether it is a method that evaluates text, where there is pandas: query, eval.
int IsEvaluator(const Checker* checker, PyObject* name);
// `name` where it is read otherwise than with a dot: a finding, if it is an evaluator.
int CheckEvaluator(Checker* checker, expr_ty place, PyObject* name);
// A function of `module` that unpickles: a finding, where it is not called but a value.
int CheckUnpickler(Checker* checker, int line, int offset, PyObject* module, PyObject* name);
// The same for receiver.name.
int CheckUncalled(Checker* checker, expr_ty place, expr_ty receiver, PyObject* name);
// The attributes that a class pattern reads.
int CheckClassPattern(Checker* checker, pattern_ty pattern);
// The fields of a text that str.format fills in: they read attributes too.
int CheckTemplate(Checker* checker, expr_ty place, expr_ty text);

int IsFormatMethod(PyObject* name);
// getattr and its like: builtins that take the name of an attribute.
int TakesAttributeName(PyObject* builtin);
int IsDunder(PyObject* name);
// Two underscores in front only: in a class, another name than it seems.
int IsMangled(const Checker* checker, PyObject* name);

int Refuse(Checker* checker, const char* rule, expr_ty place, const char* hint, const char* format,
           PyObject* name);

int RefuseNode(Checker* checker, const char* name);

int CheckValuesStart(void);
int CheckCallsStart(void);
int CheckPackagesStart(void);
int CheckPatternsStart(void);

#endif  // CAISSON_GUEST_CHECKER_H_
