// Reads the syntax tree that a foreign interpreter parsed and sent, as the tree of the built-in
// parser, so that the policy and the analysis of awaits can judge it (ADR 28).
//
// Trust     The bytes are hostile. Counts, depth and kinds are checked here; CPython checks the
//           shape of the result. A tree that is not understood is an error, never a smaller tree.
// Threads   With the interpreter lock held.
// Lifetime  Nodes belong to the arena.
#ifndef CAISSON_GUEST_NATIVE_FOREIGN_TREE_H_
#define CAISSON_GUEST_NATIVE_FOREIGN_TREE_H_

#include "guest/python.h"

// `message` is a dict with
//   "shapes"  list of tuples (kind, base, number of positions, name of each field): the kinds of
//             nodes; base is the abstract kind, such as "expr"
//   "texts"   list of constants: plain values, and tuples for values that have no encoding: (0,
//             UTF-8 of a str with lone surrogates), (1, real, imaginary), (2,) for an Ellipsis
//   "nodes"   bytes: 32-bit ints in little-endian order, the values of the statements of the module
//             as a list. A value is -1 for None, -2 and a node, -3 and a count and that many
//             values, or the index of a constant. A node is the index of its shape, its positions
//             (line, offset, and of statements the line and offset of the end) and the value of
//             each field.
//
// Nodes are numbered in this order, from 0. Each expression and pattern of the result has its
// number as end_col_offset: nothing here needs the end of either.
//
// Kinds of nodes and fields that Python 3.11 does not have are added to `unknown`, a list, as
// tuples (line, offset, str). Their expressions stay in the tree in another form, which is good
// enough to follow values and to find imports, but not to judge them.
//
// Returns null with a Python error set if it fails.
mod_ty ForeignTreeRead(PyObject* message, PyArena* arena, PyObject* unknown);

int ForeignTreeStart(void);

#endif  // CAISSON_GUEST_NATIVE_FOREIGN_TREE_H_
