"""The variables of a piece of code: the scopes that bind them, their values, and the uses of those
values (guest/awaits/await_scopes.h)."""

import ast

from caisson.runner import walk

# The use of a value: it is awaited (0), or is a collection of awaited values (1), or of such
# collections (2).
NOTHING, AWAITED, DEEPEST, ANYTHING = -1, 0, 2, 3

# Functions that access variables in other ways.
_LOOKERS = frozenset("globals locals vars eval exec".split())


class Scope:
    def __init__(self, kind, outer):
        self.kind, self.outer = kind, outer
        self.variables = {}


class Source:
    """A value that a variable is bound to: the result of `value` in `scope`, or an import."""

    def __init__(self, scope, value=None, module=None, member=None):
        self.scope, self.value, self.module, self.member = scope, value, module, member


class Variable:
    def __init__(self, scope, name):
        self.scope, self.name = scope, name
        self.level = NOTHING
        self.places = 0  # The number of places in the text that bind it.
        self.sources = []  # The values it is bound to, for the places where that is known.
        self.meaning = self.is_collection = None  # For await_meanings, once known.
        self.asked = set()  # The questions that are being answered now.


class Variables:
    def __init__(self, tools, globals):
        self.tools = tools  # Names of the tools that are functions.
        self.globals = globals  # As earlier code of the session left them.
        self.module = self.current = Scope(walk.MODULE, None)
        self.shared = set()  # Names that `global` and `nonlocal` share between scopes.
        self.loses_track = False  # The code accesses its variables in other ways than by name.
        self._scopes = {}  # Keyed by the node that makes them.

    def scope_of(self, kind, node):
        if node not in self._scopes:
            self._scopes[node] = Scope(kind, self.current)
        return self._scopes[node]

    def open(self, kind, node):
        self.current = self.scope_of(kind, node)

    def close(self):
        self.current = self.current.outer

    def find(self, scope, name):
        """Returns the variable that `name` means in `scope`; None if this piece of code does not
        bind it."""
        at = scope
        while at is not None:
            if (at.kind != walk.CLASS or at is scope) and name in at.variables:
                return at.variables[name]
            at = at.outer
        return None

    def is_tracked(self, variable):
        """Returns whether it is reached only by its name in its own scope and the scopes inside."""
        # Names that a class binds can be accessed as attributes.
        is_hidden = variable.scope.kind != walk.CLASS and variable.name not in self.shared
        return is_hidden and not self.loses_track

    def level_of(self, name):
        variable = self.find(self.current, name)
        return variable.level if variable is not None and self.is_tracked(variable) else ANYTHING

    # Results of the first walk.

    def _make(self, name):
        return self.current.variables.setdefault(name, Variable(self.current, name))

    def bind(self, name):
        self._make(name).places += 1

    def add_source(self, name, **source):
        self._make(name).sources.append(Source(self.current, **source))


class FindVariables(walk.Walk):
    """The first walk."""

    def __init__(self, variables):
        self._variables = variables
        self.bind, self.open, self.close = variables.bind, variables.open, variables.close

    def _assigned(self, target, value):
        if isinstance(target, ast.Name) and value is not None:
            self._variables.add_source(target.id, value=value)

    def stmt(self, node):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            self._variables.shared.update(node.names)
        elif isinstance(node, ast.Assign):
            if len(node.targets) == 1:  # A value with two names has no source for either.
                self._assigned(node.targets[0], node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            self._assigned(node.target, node.value)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self._assigned(item.optional_vars, item.context_expr)
        else:
            self.imports(node)
        return True

    def imports(self, node):
        if isinstance(node, ast.Import):  # `import a.b` binds a; `import a.b as c` binds a.b.
            for alias in node.names:
                head = alias.name.partition(".")[0]
                module = alias.name if alias.asname else head
                self._variables.add_source(alias.asname or head, module=module)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            for alias in node.names:
                name = alias.asname or alias.name
                self._variables.add_source(name, module=node.module, member=alias.name)

    def expr(self, node):
        if isinstance(node, ast.NamedExpr):  # Binds in the scope around comprehensions.
            self._variables.shared.add(node.target.id)
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                self.bind(node.id)
            elif node.id in _LOOKERS:
                self._variables.loses_track = True
        return True


def find_flat(variables, tree):
    """For newer syntax that is not walked: acts as if there were one scope whose variables cannot
    be followed."""
    variables.loses_track = True
    finder = FindVariables(variables)
    for node in ast.walk(tree):
        finder.imports(node)
        if isinstance(node, ast.alias):
            variables.bind(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name):
            finder.expr(node)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            variables.shared.update(node.names)
        else:  # Definitions, parameters, handlers, patterns, type parameters.
            names = (getattr(node, field, None) for field in ("name", "arg", "rest"))
            for name in names:
                if isinstance(name, str) and not isinstance(node, ast.keyword):
                    variables.bind(name)
