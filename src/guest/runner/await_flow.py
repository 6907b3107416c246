"""Follows values from where they are awaited back to where they are made (guest/awaits/await_flow.h)."""

import ast

from caisson.runner import walk
from caisson.runner.await_meanings import (
    COLLECTS, COUNTS, ENUMERATES, MAPS, PASSES_ON, TAKERS, TAKES_EACH, TAKES_ITEMS, ZIPS, is_called_like_taker,
)
from caisson.runner.await_returns import may_be_tool
from caisson.runner.await_scopes import ANYTHING, AWAITED, DEEPEST, NOTHING
from caisson.runner.tools import AWAITABLE, PENDING, TAKING

_MAX_PASSES, _MAX_FOLLOWED = 12, 100

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def _item_level(level):
    return level if level in (NOTHING, ANYTHING) else level - 1 if level > AWAITED else ANYTHING


def _collection_level(level):
    return level if level == NOTHING else level + 1 if level < DEEPEST else ANYTHING


class Flow(walk.Walk):
    """Passes over the tree, without changing it. `marks` lists the places to rewrite, as found by
    the last pass: (the object that holds a node, its attribute or index there, the function to be
    called with it)."""

    def __init__(self, variables, meanings):
        self._variables, self._meanings = variables, meanings
        self.open, self.close = variables.open, variables.close
        self.marks = []
        self._followed = set()  # The uses of names that are followed in this pass.
        self._changed = False
        self._settled = False  # The analysis is complete: unknown uses count as any use.
        self._depth = 0

    def run(self, body):
        """Repeats until nothing new is found."""
        passes = 0
        while True:
            passes += 1
            self._changed = False
            self.marks.clear()
            self._followed.clear()
            self.visit_stmts(body)
            if self._changed and passes >= _MAX_PASSES:
                self._variables.loses_track = self._settled = True
            elif not self._changed and self._settled:
                return
            elif not self._changed:
                self._settled = True

    def run_flat(self, tree):
        """For newer syntax that is not walked: values awaited directly where they are called are
        still found."""
        self._settled = True
        for node in list(ast.walk(tree)):
            if isinstance(node, ast.stmt):
                self.stmt(node)
            elif isinstance(node, ast.expr):
                self.expr(node)

    # Names.

    def _note(self, node, level):
        """Adds a use of the values of a name. Two different uses are ANYTHING."""
        before = self._variables.level_of(node.id)
        if level == NOTHING or before in (level, ANYTHING):
            return
        variable = self._variables.find(self._variables.current, node.id)
        variable.level = level if before == NOTHING else ANYTHING
        self._changed = True

    def _follow_name(self, node, level):
        self._followed.add(node)
        self._note(node, level)

    def _keeps(self, node):
        """Returns whether a value put into the collection comes out unchanged, where that is
        followed."""
        level = self._variables.level_of(node.id)
        return level not in (AWAITED, ANYTHING) and self._meanings.is_collection(node)

    # Values.

    def follow(self, node, level):
        """Records that the value of `node`, or its items, are used as `level` says."""
        is_unknown = level == NOTHING and self._settled
        if level == ANYTHING or is_unknown or self._depth == _MAX_FOLLOWED:
            return
        self._depth += 1
        self._follow_parts(node, level)
        self._depth -= 1

    def _follow_parts(self, node, level):
        if isinstance(node, ast.Call):
            self._follow_call(node, level)
        elif isinstance(node, ast.Name):
            self._follow_name(node, level)
        elif isinstance(node, ast.IfExp):
            self.follow(node.body, level)
            self.follow(node.orelse, level)
        elif isinstance(node, _COMPREHENSIONS):
            self.open(walk.COMPREHENSION, node)
            self.follow(node.value if isinstance(node, ast.DictComp) else node.elt, _item_level(level))
            self.close()
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for item in node.elts:
                if isinstance(item, ast.Starred):
                    self.follow(item.value, level)
                else:
                    self.follow(item, _item_level(level))
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                self.follow(value, level if key is None else _item_level(level))
        elif isinstance(node, ast.Subscript):
            is_slice = isinstance(node.slice, ast.Slice)
            self.follow(node.value, level if is_slice else _collection_level(level))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and level != AWAITED:
            # In a sum each operand sees the other.
            if all(map(self._meanings.is_collection, (node.left, node.right))):
                self.follow(node.left, level)
                self.follow(node.right, level)

    def _follow_call(self, call, level):
        function, args = call.func, call.args
        meaning = self._meanings.of(function)
        if level == AWAITED and may_be_tool(function):
            if meaning not in TAKERS:
                self.marks.append((call, "func", PENDING))
        elif level != AWAITED and meaning == MAPS and len(args) >= 2:
            if level == AWAITED + 1:
                self.marks.append((args, 0, PENDING))
        elif level != AWAITED and meaning in (COLLECTS, PASSES_ON):
            if len(args) == 1:
                self.follow(args[0], level)
        elif isinstance(function, ast.Attribute):
            # p.values(), p.get(key), p.pop()
            if function.attr == "values" and level != AWAITED:
                self.follow(function.value, level)
            elif function.attr in ("get", "pop", "popleft"):
                self.follow(function.value, _collection_level(level))

    # Where values go.

    def _follow_assigned(self, target, value):
        if isinstance(target, ast.Name):
            self.follow(value, self._variables.level_of(target.id))
        elif isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for one, its in zip(target.elts, value.elts):
                    self._follow_assigned(one, its)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            if self._keeps(target.value):
                self._follow_name(target.value, NOTHING)
                self.follow(value, _item_level(self._variables.level_of(target.value.id)))

    def _follow_added(self, node):
        """p += value, p |= value"""
        target = node.target
        if not isinstance(target, ast.Name):
            return
        if isinstance(node.op, (ast.Add, ast.BitOr)) and self._keeps(target):
            self.follow(node.value, self._variables.level_of(target.id))
        else:
            self._note(target, ANYTHING)

    def _follow_iterated(self, inner, target, iterable):
        """`for target in iterable`, with the target's names in the scope `inner`."""
        if isinstance(target, ast.Name):
            outer, self._variables.current = self._variables.current, inner
            level = self._variables.level_of(target.id)
            self._variables.current = outer
            self.follow(iterable, _collection_level(level))
            return
        if not isinstance(target, ast.Tuple) or not isinstance(iterable, ast.Call):
            return
        function, args = iterable.func, iterable.args
        is_pair = len(target.elts) == 2
        if is_pair and not args and isinstance(function, ast.Attribute) and function.attr == "items":
            self._follow_iterated(inner, target.elts[1], function.value)
            return
        meaning = self._meanings.of(function)
        if meaning == ENUMERATES and is_pair and args:
            self._follow_iterated(inner, target.elts[1], args[0])
        elif meaning == ZIPS and len(target.elts) == len(args):
            for one, its in zip(target.elts, args):
                self._follow_iterated(inner, one, its)

    def _follow_generators(self, node):
        outer = self._variables.current
        inner = self._variables.scope_of(walk.COMPREHENSION, node)
        for i, one in enumerate(node.generators):
            self._variables.current = inner if i > 0 else outer
            if not one.is_async:
                self._follow_iterated(inner, one.target, one.iter)
        self._variables.current = outer

    def _follow_taken(self, call, meaning):
        """Marks the awaitables among the arguments of a function of asyncio."""
        for argument in call.args if meaning == TAKES_EACH else call.args[:1]:
            is_starred = isinstance(argument, ast.Starred)
            level = AWAITED + 1 if is_starred or meaning == TAKES_ITEMS else AWAITED
            self.follow(argument.value if is_starred else argument, level)
        self.marks.append((call, "func", TAKING))

    def _follow_put(self, call):
        """p.append(value) and similar methods, which take nothing out of a collection."""
        owner, method, args = call.func.value, call.func.attr, call.args
        if not isinstance(owner, ast.Name) or not self._keeps(owner):
            return
        if method in ("keys", "clear"):
            self._follow_name(owner, NOTHING)
        elif method in ("append", "add", "appendleft", "extend", "update") and len(args) == 1:
            self._follow_name(owner, NOTHING)
            level = self._variables.level_of(owner.id)
            self.follow(args[0], level if method in ("extend", "update") else _item_level(level))

    def _follow_counted(self, node):
        """A name in a place that only asks how many items a collection has."""
        if isinstance(node, ast.Name) and self._variables.level_of(node.id) not in (AWAITED, ANYTHING):
            self._follow_name(node, NOTHING)

    def _follow_test(self, test):
        """`if p:`, `while p:`, `if not p:`"""
        is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        self._follow_counted(test.operand if is_not else test)

    def _follow_used(self, call):
        meaning = self._meanings.of(call.func)
        if meaning in TAKERS:
            self._follow_taken(call, meaning)
        elif meaning == COUNTS and len(call.args) == 1:
            self._follow_counted(call.args[0])
        elif meaning is None and is_called_like_taker(call.func):
            # Whether it belongs to asyncio is decided when it is called; until then, its arguments
            # are unchanged.
            self.marks.append((call, "func", TAKING))
        elif isinstance(call.func, ast.Attribute):
            self._follow_put(call)

    def expr(self, node):
        if isinstance(node, ast.Await):
            self.follow(node.value, AWAITED)
            self.marks.append((node, "value", AWAITABLE))
        elif isinstance(node, ast.Call):
            self._follow_used(node)
        elif isinstance(node, _COMPREHENSIONS):
            self._follow_generators(node)
        elif isinstance(node, ast.IfExp):
            self._follow_test(node.test)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load) and node not in self._followed:
                self._note(node, ANYTHING)
        return True

    def stmt(self, node):
        if isinstance(node, ast.Assign):
            if len(node.targets) == 1:
                self._follow_assigned(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._follow_assigned(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._follow_added(node)
        elif isinstance(node, ast.For):
            self._follow_iterated(self._variables.current, node.target, node.iter)
        elif isinstance(node, (ast.If, ast.While)):
            self._follow_test(node.test)
        return True
