// Declares the parts of the check to one another: check.c (statements and the walk), check_values.c
// (names and attributes), check_calls.c (calls), check_packages.c (packages), check_patterns.c
// (class patterns).
//
// Trust     As check.h.
// Threads   As check.h.
// Lifetime  A Checker lives for one CheckTree.
#ifndef CAISSON_GUEST_POLICY_CHECKER_H_
#define CAISSON_GUEST_POLICY_CHECKER_H_

#include "guest/policy/check.h"
#include "guest/policy/names.h"

typedef struct Checker {
  const CheckOptions* options;
  ModulePolicy modules;
  const Rules* rules;
  Findings* findings;
  Names names;
  TreeVisitor* visitor;
  int steps;           // Steps taken to follow aliases, for all names together.
  int classes;         // Depth of nested class bodies.
  int line, offset;    // The position of the last visited node, for parts without a position.
  expr_ty done;        // Already checked: the walk skips it.
  expr_ty formatting;  // A `format` whose text CheckCall checks.
  expr_ty called;      // A callee whose arguments CheckCall checks.
  expr_ty excused[2];  // May be a module, because the surrounding code makes no value of it.
} Checker;

// The relevant things that an expression may be. Names are borrowed.
enum { kMaxPossible = 8 };
typedef struct Possible {
  int count;
  struct {
    ThingKind kind;  // kModule or kSpecial.
    PyObject* name;
  } of[kMaxPossible];
  int too_many;       // There are more than fit, or too many aliases of aliases.
  PyObject* builtin;  // The builtin it may be, or null.
  PyObject* left;     // The module that earlier code of a session left under this name, or null.
} Possible;

// Limits on aliases of aliases. Ordinary code has a few; an attacker can write as many as fit into
// the source, each of which leads to all the others.
enum { kMaxAliasDepth = 40, kMaxAliasSteps = 200 * 1000 };

// Each returns 0, or -1 with a Python error set.

// Determines what `expr` may be, for an alias of it. Reports nothing; that happens where the
// expression stands.
int Evaluate(Checker* checker, Scope* scope, expr_ty expr, Possible* possible, int depth);
// Checks an expression and determines what it may be, without checking whether it may be used as a
// value.
int CheckOperand(Checker* checker, expr_ty expr, Possible* possible);
// Checks a Name or Attribute in a place where it is a value.
int CheckValue(Checker* checker, expr_ty expr);
// Checks whether `name` may be read from (written to, deleted from) an unknown object at `place`.
// `receiver` may be null.
int CheckAttributeName(Checker* checker, expr_ty place, expr_ty receiver, PyObject* name);
// The same for `name` of each thing in `possible`.
int CheckMembers(Checker* checker, expr_ty place, expr_ty receiver, const Possible* of,
                 PyObject* name, Possible* result);
// Adds a finding for a member that may not be used; adds nothing for one that may.
int RefuseMember(Checker* checker, int line, int offset, PyObject* module, PyObject* name,
                 const Member* member);
int CheckCall(Checker* checker, expr_ty call);
// Checks what is reached through packages outside the standard library, and calls that make them
// execute text.
int CheckBelowPackage(Checker* checker, expr_ty attribute);
int CheckPackageCall(Checker* checker, expr_ty call);
// Returns whether it is a method that evaluates text if pandas is imported: query, eval.
int IsEvaluator(const Checker* checker, PyObject* name);
// Adds a finding if `name`, accessed in another way than with a dot, is an evaluator.
int CheckEvaluator(Checker* checker, expr_ty place, PyObject* name);
// Adds a finding if a function of `module` that unpickles is used as a value instead of called.
int CheckUnpickler(Checker* checker, int line, int offset, PyObject* module, PyObject* name);
// The same for receiver.name.
int CheckUncalled(Checker* checker, expr_ty place, expr_ty receiver, PyObject* name);
// Checks the attributes that a class pattern reads.
int CheckClassPattern(Checker* checker, pattern_ty pattern);
// Checks the fields of a text that str.format fills in: they read attributes too.
int CheckTemplate(Checker* checker, expr_ty place, expr_ty text);

int IsFormatMethod(PyObject* name);
// Returns whether it is getattr or a similar builtin that takes the name of an attribute.
int TakesAttributeName(PyObject* builtin);
int IsDunder(PyObject* name);
// Returns whether the name only starts with two underscores: inside a class it means another name.
int IsMangled(const Checker* checker, PyObject* name);

int Refuse(Checker* checker, const char* rule, expr_ty place, const char* hint, const char* format,
           PyObject* name);

int RefuseNode(Checker* checker, const char* name);

int CheckValuesStart(void);
int CheckCallsStart(void);
int CheckPackagesStart(void);
int CheckPatternsStart(void);

#endif  // CAISSON_GUEST_POLICY_CHECKER_H_
