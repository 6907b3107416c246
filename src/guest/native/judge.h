// The judge of foreign interpreters: applies the policy and the analysis of awaits to the trees
// that they parsed (ADR 28). A confined process per cell, forked from a fork server, runs it.
//
// Trust     Everything that is read was written by a foreign interpreter, which is hostile once
//           code has run in it. The judge ends at the first thing that is malformed.
// Threads   One.
// Lifetime  Boot once, before forking; the mirror of a foreign interpreter lives as long as the
//           process.
#ifndef CAISSON_GUEST_NATIVE_JUDGE_H_
#define CAISSON_GUEST_NATIVE_JUDGE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Starts an interpreter that only judges, with its library in `library`. Returns 0 on success.
int32_t caisson_judge_boot(const char* library);

// Answers what is asked over the socket until the other end is closed.
//
// Each message is its length, 4 bytes in little-endian order, and one encoded Value. A question is
// a dict with the tree (foreign_tree.h), what is known of the interpreter (mirror.h) and
//   "code"             bytes: its text, UTF-8
//   "tools", "policy", "native_packages", "check"   as in the request (guest/abi.h)
//   "awaits"           bool: whether its awaits are analysed
// The answer is a tuple, one of
//   ("missing", name), ("module", name)   a question to the interpreter, see AskForeign
//   ("judged", may run, report or None, edits)   the report says why it may not run, or answers a
//                      check. Edits are tuples, to apply from the last to the first: (number of an
//                      expression, name of a function), which is called with its value, and (number
//                      of a pattern, list of str), the attributes that its parts have
//   ("nested",)        the code is nested too deeply, or too large
//   ("failed", why)    it could not be judged
void caisson_judge(int socket);

#ifdef __cplusplus
}
#endif

#endif  // CAISSON_GUEST_NATIVE_JUDGE_H_
