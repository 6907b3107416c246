"""Packages outside the standard library: some of their functions execute text, or unpickle.

They are not loaded when the check runs, so everything below them is known only by its path:
numpy.testing may be a module or anything else."""

import ast
import re
import sys

from caisson.runner import lists, names, tools
from caisson.runner.check_values import MAX_ALIAS_DEPTH, MAX_ALIAS_STEPS, Possible, Values, is_dunder
from caisson.runner.modules import REFUSED


# Functions of numpy that unpickle, with the position of their argument allow_pickle.
_UNPICKLERS = {"load": 2, "read_array": 1, "NpzFile": 3}


def _is_false(node):
    return isinstance(node, ast.Constant) and node.value is False


def _is_in_numpy(path):
    return path.partition(".")[0] == "numpy"


class Packages(Values):
    def _path(self, node, scope=None, depth=0):
        """Returns the dotted path by which `node` is reached from a package, or None."""
        scope = scope or self.names.current
        self.steps += 1
        if depth > MAX_ALIAS_DEPTH or self.steps > MAX_ALIAS_STEPS:
            return None
        if isinstance(node, ast.Attribute):
            above = self._path(node.value, scope, depth + 1)
            return None if above is None else f"{above}.{node.attr}"
        if not isinstance(node, ast.Name):
            return None
        found = self.evaluate(scope, node, Possible(), depth).things
        if found:
            return found[0][1] if found[0][0] == names.MODULE else None
        while scope is not None:
            binding = scope.find(node.id)
            for kind, thing in binding.things if binding is not None else ():
                path = thing if kind == names.MEMBER else None
                if kind == names.SAME:
                    path = self._path(*thing, depth + 1)
                if path is not None:
                    return path
            scope = scope.parent
        return None

    def check_below_package(self, node):
        path = self._path(node) if self.modules.native else None
        if path is None or self.modules.is_standard(path):
            return
        hint = lists.refused_below_packages.get(node.attr)
        message = f"{path:.80} is not allowed"
        if node.attr.startswith("_") and not is_dunder(node.attr):
            hint, message = "use what the package offers publicly", f"{path:.80} is private to the package"
        elif self.rules.imports.get(path) is REFUSED:
            hint = lists.refused_members.get(path, "leave it out")
        if hint is not None:
            self.refuse("attribute", node, hint, message)

    def check_package_call(self, node):
        if not self.modules.native:
            return
        method = node.func.attr if isinstance(node.func, ast.Attribute) else None
        if self._is_evaluator(method):
            self._check_query(node)
        if self._allows_pickle(node):
            hint = "leave allow_pickle out: arrays of numbers need none"
            self.refuse("attribute", node, hint, "allow_pickle runs code that the file has")

    def _uses_pandas(self):
        """Other packages return DataFrames too, and in a session earlier code may have left some."""
        if "pandas" not in self.modules.native:
            return False
        return "pandas" in sys.modules or not all(map(self.modules.is_standard, self.imports))

    def _is_evaluator(self, name):
        return name in tools.EVALUATORS and self._uses_pandas()

    def check_evaluator(self, place, name):
        """Checks `name` where it is read in another way than with a dot."""
        if self._is_evaluator(name):
            hint = "call it where it stands, with the text as a literal: df.query('a > @n')"
            self.refuse("attribute", place, hint, f"it cannot be told what {name:.80}() evaluates here")

    def check_unpickler(self, place, module, name):
        if name in _UNPICKLERS and _is_in_numpy(module):
            hint = "call it where it stands, by its path: np.load(file)"
            message = f"{module:.80}.{name:.80}, which can run code that a file has, is used as a value"
            self.refuse("attribute", place, hint, message)

    def check_uncalled(self, place, receiver, name):
        path = self._path(receiver) if self.modules.native and name in _UNPICKLERS else None
        if path is not None:
            self.check_unpickler(place, path, name)

    def _check_query(self, node):
        """df.query(text), df.eval(text): pandas evaluates the text, with the variables of the code."""
        text = node.args[0] if node.args else None
        if isinstance(text, ast.Constant) and type(text.value) is str:
            for word in re.finditer(r"\w+", text.value):
                self._check_word(node, word)
            return
        hint = "write the text as a literal, with @name for a variable: df.query('a > @n')"
        self.refuse("attribute", node, hint, f"it cannot be told what {node.func.attr:.80}() evaluates")

    def _check_word(self, node, word):
        """Checks a word, which is an attribute if there is a dot before it. `@name` is a variable
        of the code; nothing of it is read or called here."""
        name = word.group()
        before = word.string[: word.start()].rstrip()[-1:]
        after = word.string[word.end() :].lstrip()[:1]
        if before == "@" and after in (".", "("):
            message = f"attributes and calls of @{name:.80} are not allowed"
            self.refuse("attribute", node, "put the value into a variable of its own", message)
        elif before == "." or is_dunder(name):
            self.check_attribute_name(node, None, name)

    def _allows_pickle(self, node):
        path = self._path(node.func)
        is_numpys = path is not None and _is_in_numpy(path)
        place = _UNPICKLERS.get(path.rpartition(".")[2], -1) if is_numpys else -1
        for keyword in node.keywords:
            if keyword.arg == "allow_pickle" and not _is_false(keyword.value) or keyword.arg is None and place >= 0:
                return True
        given = node.args[: place + 1]
        is_given = len(given) == place + 1 and given and not _is_false(given[place])
        return bool(is_given) or any(isinstance(one, ast.Starred) for one in given)
