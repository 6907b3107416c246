"""Determines what an expression certainly is, from its text and from the globals that earlier code
of a session left (guest/awaits/await_meanings.h)."""

import ast
import sys

from caisson.runner import walk

TAKES_FIRST, TAKES_EACH, TAKES_ITEMS = "takes first", "takes each", "takes items"
TAKERS = (TAKES_FIRST, TAKES_EACH, TAKES_ITEMS)
COLLECTS, MAKES_COLLECTION, PASSES_ON = "collects", "makes collection", "passes on"
COUNTS, MAPS, ZIPS, ENUMERATES = "counts", "maps", "zips", "enumerates"

_STEPS = {
    "modules": {"asyncio": "asyncio", "collections": "collections"},
    "asyncio": {
        "gather": TAKES_EACH,
        "as_completed": TAKES_ITEMS,
        "wait": TAKES_ITEMS,
        "TaskGroup": "group class",
        "Runner": "runner class",
        **dict.fromkeys("create_task ensure_future wait_for shield run".split(), TAKES_FIRST),
        **dict.fromkeys("get_running_loop get_event_loop new_event_loop".split(), "loop getter"),
    },
    "group class": {"()": "group"},
    "group": {"create_task": TAKES_FIRST},
    "loop getter": {"()": "loop"},
    "loop": {"create_task": TAKES_FIRST, "run_until_complete": TAKES_FIRST},
    "runner class": {"()": "runner"},
    "runner": {"run": TAKES_FIRST},
    "collections": {"deque": COLLECTS, "OrderedDict": COLLECTS, "defaultdict": MAKES_COLLECTION},
    "builtins": {
        **dict.fromkeys("list tuple set dict".split(), COLLECTS),
        **dict.fromkeys("iter reversed".split(), PASSES_ON),
        "len": COUNTS,
        "map": MAPS,
        "zip": ZIPS,
        "enumerate": ENUMERATES,
    },
}
# Maximum number of aliases of aliases, or attributes of attributes, that are followed.
_MAX_STEPS = 40
_MADE_NEW = ("group", "loop", "runner")
_HEAP_TYPE = 1 << 9

_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)


def _step(of, word):
    return _STEPS.get(of, {}).get(word)


def is_called_like_taker(function):
    """tg.create_task, whatever tg is. Very common names are excluded."""
    name = getattr(function, "id", None) or getattr(function, "attr", None)
    if name in ("run", "wait"):
        return False
    return _step("asyncio", name) in TAKERS or _step("loop", name) in TAKERS


def _meaning_of_object(value):
    for name, meaning in _STEPS["modules"].items():
        module = sys.modules.get(name)
        if module is None:
            continue
        if module is value:
            return meaning
        for member, its_meaning in _STEPS[meaning].items():
            if getattr(module, member, None) is value:
                return its_meaning
    return None


class Meanings:
    def __init__(self, variables):
        self._variables = variables

    def of(self, node):
        """Returns the meaning of an expression in the current scope; None: unknown."""
        return self._evaluate(self._variables.current, node, 0)

    def _is_there(self, name):
        """Returns whether something has this name before the code runs, and its meaning."""
        if name in self._variables.tools:
            return True, None
        if name not in self._variables.globals:
            return False, None
        return True, _meaning_of_object(self._variables.globals[name])

    def _is_from_star(self, name):
        """Returns whether `from m import *` may have bound it."""
        star = self._variables.module.variables.get("*")
        if star is None:
            return False, None
        if star.places != len(star.sources) or any(one.module != "asyncio" for one in star.sources):
            return True, None
        meaning = _step("asyncio", name)
        return meaning is not None, meaning

    def _of_free(self, name):
        for find in (self._is_there, self._is_from_star):
            is_found, meaning = find(name)
            if is_found:
                return meaning
        return None if self._variables.loses_track else _step("builtins", name)

    def _of_source(self, source, depth):
        if source.value is not None:
            return self._evaluate(source.scope, source.value, depth)
        module = _step("modules", source.module)
        return module if source.member is None else _step(module, source.member)

    def _of_sources(self, variable, depth):
        """Returns the common meaning of all its sources. Before they are bound, a global may be
        something else."""
        is_class = variable.scope.kind == walk.CLASS
        if variable.places != len(variable.sources) or is_class or variable.name in self._variables.shared:
            return None
        meanings = {self._of_source(source, depth) for source in variable.sources}
        meaning = meanings.pop() if len(meanings) == 1 else None
        if variable.scope.kind != walk.MODULE or meaning in _MADE_NEW:
            return meaning
        is_there, before = self._is_there(variable.name)
        return None if is_there and before != meaning else meaning

    def _of_name(self, scope, name, depth):
        variable = self._variables.find(scope, name)
        if variable is None:
            return self._of_free(name)
        if "meaning" in variable.asked:
            return None
        if variable.meaning is None:
            variable.asked.add("meaning")
            variable.meaning = (self._of_sources(variable, depth),)
            variable.asked.discard("meaning")
        return variable.meaning[0]

    def _evaluate(self, scope, node, depth):
        if depth == _MAX_STEPS:
            return None
        if isinstance(node, ast.Name):
            return self._of_name(scope, node.id, depth + 1)
        if isinstance(node, ast.Attribute):
            return _step(self._evaluate(scope, node.value, depth + 1), node.attr)
        if isinstance(node, ast.Call):
            return _step(self._evaluate(scope, node.func, depth + 1), "()")
        return None

    # Collections.

    def is_collection(self, node):
        """Returns whether it gives a builtin collection that no method of the code looks into. This
        holds for a name that is only bound to new collections, so that no other name refers to
        them."""
        return self._is_collection(self._variables.current, node, None, 0)

    def _is_new(self, scope, node, asking, depth):
        """Excludes a collection that already has a name, through which other code may look at it."""
        return not isinstance(node, ast.Name) and self._is_collection(scope, node, asking, depth)

    def _are_sources_new(self, variable, depth):
        if variable.places != len(variable.sources) or not self._variables.is_tracked(variable):
            return False
        # Before it is bound, it may be an object of one of the code's classes.
        if variable.scope.kind == walk.MODULE:
            left = self._variables.globals.get(variable.name)
            if type(left).__flags__ & _HEAP_TYPE:
                return False
        return all(
            source.value is not None and self._is_new(source.scope, source.value, variable, depth)
            for source in variable.sources
        )

    def _is_name_of_collection(self, scope, name, asking, depth):
        """`asking` is the variable whose sources are examined. A variable that is made from itself
        (`p = p + [x]`) is a collection if it was one before. Other cycles are not."""
        variable = self._variables.find(scope, name)
        if variable is None or variable is asking:
            return variable is not None
        if "collection" in variable.asked:
            return False
        if variable.is_collection is None:
            variable.asked.add("collection")
            variable.is_collection = self._are_sources_new(variable, depth)
            variable.asked.discard("collection")
        return variable.is_collection

    def _is_collection(self, scope, node, asking, depth):
        if depth == _MAX_STEPS:
            return False
        if isinstance(node, _DISPLAYS):
            return True
        if isinstance(node, ast.Call):
            return self._evaluate(scope, node.func, depth + 1) in (COLLECTS, MAKES_COLLECTION)
        if isinstance(node, ast.IfExp):
            branches = (node.body, node.orelse)
            return all(self._is_new(scope, one, asking, depth + 1) for one in branches)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = (node.left, node.right)
            return all(self._is_collection(scope, one, asking, depth + 1) for one in sides)
        return isinstance(node, ast.Name) and self._is_name_of_collection(scope, node.id, asking, depth + 1)
