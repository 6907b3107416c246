"""Decides, on the tree, which tool calls are pending, as guest/await_calls.h does."""

import ast

from caisson.runner import walk
from caisson.runner.tools import AWAITABLE, AWAITABLES, GIVEN, PENDING, RETURNED, TASKS, TWIN
from caisson.runner.trees import called

# What becomes of a value: it is awaited (0), or is a collection, of what is awaited (1), of such collections (2).
_NOTHING, _AWAITED, _DEEPEST, _ANYTHING = -1, 0, 2, 3
_MAX_PASSES, _MAX_FOLLOWED = 12, 100

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_TAKERS = frozenset(
    "gather create_task ensure_future wait_for shield as_completed run_until_complete".split()
)
_LOOKERS = frozenset("globals locals vars eval exec".split())  # Functions that reach variables.


class _Names:
    """The names that a scope binds, each with what becomes of its values: level[name]."""

    def __init__(self, level, kind, outer):
        self.level, self.kind, self.outer = level, kind, outer


def _item_level(level):
    return level if level in (_NOTHING, _ANYTHING) else level - 1 if level > _AWAITED else _ANYTHING


def _collection_level(level):
    return level if level == _NOTHING else level + 1 if level < _DEEPEST else _ANYTHING


def _is_of_asyncio(function):
    return isinstance(function, ast.Attribute) and getattr(function.value, "id", None) == "asyncio"


def _takes_awaitables(function):
    if isinstance(function, ast.Name):
        return function.id in _TAKERS
    if not isinstance(function, ast.Attribute):
        return False
    # `run` and `wait` are too common to go by alone.
    return function.attr in _TAKERS or (_is_of_asyncio(function) and function.attr in ("run", "wait"))


def _wrapped(function, wrapper):
    """<wrapper>(f), if f may be a tool: those are not reached through attributes."""
    is_wrapped = isinstance(function, ast.Subscript) or (
        isinstance(function, ast.Name) and not _takes_awaitables(function)
    )
    return called(wrapper, function) if is_wrapped else function


class _Scopes(walk.Walk):
    def __init__(self):
        self.scopes = {}
        self.shared = set()  # Names that `global` and `nonlocal` take from scope to scope.
        self.loses_track = False  # The code looks at its variables in other ways than by their names.
        self.names = _Names({}, walk.MODULE, None)

    def names_of(self, kind, node):
        return _Names(self.scopes.setdefault(node, {}), kind, self.names)

    def open(self, kind, node):
        self.names = self.names_of(kind, node)

    def close(self):
        self.names = self.names.outer


class _Binds(_Scopes):
    def bind(self, name):
        self.names.level.setdefault(name, _NOTHING)

    def stmt(self, node):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            self.shared.update(node.names)
        return True

    def expr(self, node):
        if isinstance(node, ast.NamedExpr):  # Binds in the scope around comprehensions.
            self.shared.add(node.target.id)
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self.bind(node.id)
            elif node.id in _LOOKERS:
                self.loses_track = True
        return True


class _Flows(_Scopes):
    """One pass over the tree: where values go, and the last time, what is pending."""

    def __init__(self, found):
        self.__dict__.update(found.__dict__)
        self.followed = set()  # Uses of names that something follows, in this pass.
        self.changed = self.settled = self.rewrites = False
        self.depth = 0

    def _binder(self, name):
        names = self.names
        while names.outer is not None:
            if (names.kind != walk.CLASS or names is self.names) and name in names.level:
                break
            names = names.outer
        return names

    def _level_of(self, name):
        names = self._binder(name)
        # What a class binds is reached as an attribute.
        if self.loses_track or names.kind == walk.CLASS or name in self.shared:
            return _ANYTHING
        return names.level.get(name, _NOTHING)

    def _note(self, name, level):
        """One more thing becomes of the values of `name`. Two different things are anything."""
        before = self._level_of(name)
        if level == _NOTHING or before in (level, _ANYTHING):
            return
        self._binder(name).level[name] = level if before == _NOTHING else _ANYTHING
        self.changed = True

    # Values.

    def _follow_name(self, node, level):
        self.followed.add(node)
        self._note(node.id, level)

    def follow(self, node, level):
        """The value of `node`, or what is inside of it, goes where `level` says."""
        is_unknown = level == _NOTHING and self.settled
        if level == _ANYTHING or is_unknown or self.depth == _MAX_FOLLOWED:
            return
        self.depth += 1
        self._follow_parts(node, level)
        self.depth -= 1

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
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and level != _AWAITED:
            self.follow(node.left, level)
            self.follow(node.right, level)

    def _follow_call(self, call, level):
        function, args = call.func, call.args
        if isinstance(function, ast.Attribute):
            # p.values(), p.get(key), p.pop()
            if function.attr == "values" and level != _AWAITED:
                self.follow(function.value, level)
            elif function.attr in ("get", "pop", "popleft"):
                self.follow(function.value, _collection_level(level))
        elif level == _AWAITED:
            if self.rewrites:
                call.func = _wrapped(function, PENDING)
        elif isinstance(function, ast.Name) and args:
            if function.id == "map" and len(args) >= 2 and level == _AWAITED + 1 and self.rewrites:
                args[0] = called(PENDING, args[0])
            elif function.id in ("list", "tuple", "set", "dict", "iter", "reversed") and len(args) == 1:
                self.follow(args[0], level)

    # Where values go.

    def _follow_assigned(self, target, value):
        if isinstance(target, ast.Name):
            self.follow(value, self._level_of(target.id))
        elif isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for one, its in zip(target.elts, value.elts):
                    self._follow_assigned(one, its)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            level = self._level_of(target.value.id)
            if level not in (_AWAITED, _ANYTHING):
                self._follow_name(target.value, _NOTHING)
                self.follow(value, _item_level(level))

    def _follow_added(self, target, value):
        """target += value"""
        if isinstance(target, ast.Name):
            level = self._level_of(target.id)
            if level == _AWAITED:
                self._note(target.id, _ANYTHING)
            else:
                self.follow(value, level)

    def _follow_iterated(self, inner, target, iterable):
        """`for target in iterable`, with the target's names in the scope `inner`."""
        if isinstance(target, ast.Name):
            outer, self.names = self.names, inner
            level = self._level_of(target.id)
            self.names = outer
            self.follow(iterable, _collection_level(level))
            return
        if not isinstance(target, ast.Tuple) or not isinstance(iterable, ast.Call):
            return
        function, args = iterable.func, iterable.args
        is_pair = len(target.elts) == 2
        if isinstance(function, ast.Attribute):
            if function.attr == "items" and not args and is_pair:
                self._follow_iterated(inner, target.elts[1], function.value)
        elif isinstance(function, ast.Name):
            if function.id == "enumerate" and is_pair and args:
                self._follow_iterated(inner, target.elts[1], args[0])
            elif function.id == "zip" and len(target.elts) == len(args):
                for one, its in zip(target.elts, args):
                    self._follow_iterated(inner, one, its)

    def _follow_generators(self, node):
        outer = self.names
        inner = self.names_of(walk.COMPREHENSION, node)
        for i, one in enumerate(node.generators):
            self.names = inner if i > 0 else outer
            if not one.is_async:
                self._follow_iterated(inner, one.target, one.iter)
        self.names = outer

    def _follow_taken(self, call):
        """The awaitables among what is given to asyncio: all that gather gets, the first of the others'."""
        name = getattr(call.func, "attr", None) or call.func.id
        wraps = self.rewrites and _is_of_asyncio(call.func)
        for i, argument in enumerate(call.args if name == "gather" else call.args[:1]):
            is_starred = isinstance(argument, ast.Starred)
            is_many = is_starred or name in ("wait", "as_completed")
            value = argument.value if is_starred else argument
            self.follow(value, _AWAITED + 1 if is_many else _AWAITED)
            if not wraps:
                continue
            value = called(TASKS if name == "wait" else AWAITABLES if is_many else AWAITABLE, value)
            if is_starred:
                argument.value = value
            else:
                call.args[i] = value

    def _follow_kept(self, call):
        """p.append(value), len(p) and their like, which take nothing out of a collection."""
        function, args = call.func, call.args
        if isinstance(function, ast.Attribute):
            owner, method = function.value, function.attr
        elif isinstance(function, ast.Name) and function.id == "len" and len(args) == 1:
            owner, method = args[0], "keys"
        else:
            return
        if not isinstance(owner, ast.Name):
            return
        level = self._level_of(owner.id)
        if level in (_AWAITED, _ANYTHING):
            return
        if method in ("keys", "clear"):
            self._follow_name(owner, _NOTHING)
        elif method in ("append", "add", "appendleft", "extend", "update") and len(args) == 1:
            self._follow_name(owner, _NOTHING)
            self.follow(args[0], level if method in ("extend", "update") else _item_level(level))

    def _follow_test(self, test):
        """`if p:`, `while p:`, `if not p:` ask a collection whether it is empty."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        if isinstance(test, ast.Name) and self._level_of(test.id) not in (_AWAITED, _ANYTHING):
            self._follow_name(test, _NOTHING)

    def expr(self, node):
        if isinstance(node, ast.Await):
            self.follow(node.value, _AWAITED)
            if self.rewrites:
                node.value = called(AWAITABLE, node.value)
        elif isinstance(node, ast.Call):
            if _takes_awaitables(node.func):
                self._follow_taken(node)
            else:
                self._follow_kept(node)
        elif isinstance(node, _COMPREHENSIONS):
            self._follow_generators(node)
        elif isinstance(node, ast.IfExp):
            self._follow_test(node.test)
        elif isinstance(node, ast.Lambda):
            if self.rewrites and isinstance(node.body, ast.Call):
                node.body.func = _wrapped(node.body.func, RETURNED)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load) and node not in self.followed:
                self._note(node.id, _ANYTHING)
        return True

    def _wrap_returned(self, node, is_async):
        call = node.value
        if not isinstance(call, ast.Call):
            return
        function = call.func
        call.func = _wrapped(function, TWIN if is_async else RETURNED)
        if is_async and call.func is not function:
            node.value = ast.copy_location(ast.Await(called(GIVEN, call)), call)

    def _wrap_returns(self, block, is_async):
        """`return f(...)`, where nothing happens between the call and the end of the function."""
        for node in block:
            if isinstance(node, ast.Return):
                self._wrap_returned(node, is_async)
            elif isinstance(node, ast.If):
                self._wrap_returns(node.body, is_async)
                self._wrap_returns(node.orelse, is_async)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.AsyncWith)):
                self._wrap_returns(node.body, is_async)

    def stmt(self, node):
        if isinstance(node, ast.Assign):
            if len(node.targets) == 1:
                self._follow_assigned(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._follow_assigned(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._follow_added(node.target, node.value)
        elif isinstance(node, ast.For):
            self._follow_iterated(self.names, node.target, node.iter)
        elif isinstance(node, (ast.If, ast.While)):
            self._follow_test(node.test)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.rewrites:
            self._wrap_returns(node.body, isinstance(node, ast.AsyncFunctionDef))
        return True


def _follow_all(flows, body):
    """Until nothing new comes to light, then once more to rewrite."""
    passes = 0
    while not flows.rewrites:
        if passes == _MAX_PASSES:
            flows.loses_track = flows.settled = True
        if passes > 0 and not flows.changed:
            flows.rewrites, flows.settled = flows.settled, True
        flows.changed = False
        flows.followed.clear()
        flows.visit_stmts(body)
        passes += 1


def rewrite_awaited_calls(tree):
    binds = _Binds()
    try:
        binds.visit_stmts(tree.body)
    except walk.Unknown:  # Newer syntax than is followed: what is awaited where it is called is still found.
        flows = _Flows(binds)
        flows.loses_track = flows.settled = flows.rewrites = True
        for node in list(ast.walk(tree)):
            (flows.stmt if isinstance(node, ast.stmt) else flows.expr)(node)
        return
    _follow_all(_Flows(binds), tree.body)
