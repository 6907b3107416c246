"""Records which names a piece of code binds, in which scope, and to what, as far as its text shows
(guest/policy/names.h).

A name that the check takes for a local of a function must never mean a module or a builtin at run
time."""

import ast

from caisson.runner import walk

# The things that a name may be bound to: (MODULE, dotted name), (SPECIAL, dotted name), (TEXT,
# str), (SAME, (node, scope)) for the same as that node, (MEMBER, dotted name) for another member of
# a module, (CLASS, (node, scope)) for the class that a class statement defines, (MADE, (node,
# scope)) for the result of a call, (OTHER, None).
MODULE, SPECIAL, TEXT, SAME, MEMBER, CLASS, MADE, OTHER = range(8)
_OTHER = (OTHER, None)


_MOST_TEXT, _DEEPEST_TEXT = 64 * 1024, 20


def joined_text(node, depth=0):
    """Returns the text that literals joined by + and * make, as far as it matters for the fields of
    str.format; otherwise None.

    A repeated text appears twice, so that everything that can stand side by side does."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is str else None
    if not isinstance(node, ast.BinOp) or depth == _DEEPEST_TEXT or not isinstance(node.op, (ast.Add, ast.Mult)):
        return None
    first = joined_text(node.left, depth + 1)
    second = first if isinstance(node.op, ast.Mult) else joined_text(node.right, depth + 1)
    if first is None or second is None or len(first) + len(second) >= _MOST_TEXT:
        return None
    return first + second


class Binding:
    def __init__(self):
        self.things = []
        # Ranges of the source, ((line, offset), (line, offset)), in which it is certainly bound.
        self.sure = []
        self.is_global = self.is_nonlocal = self.is_deleted = False
        self.is_caught = False  # An exception, at least once: `except E as name`.
        self.is_followed = False  # Currently being evaluated: a cycle ends here.

    def is_sure_at(self, node):
        at = node.lineno, node.col_offset
        return not self.is_deleted and any(start <= at <= end for start, end in self.sure)


class Scope:
    def __init__(self, kind, parent):
        self.kind = kind
        self.parent = parent
        self.bindings = {}

    def find(self, name):
        return self.bindings.get(name)

    def make(self, name):
        return self.bindings.setdefault(name, Binding())


class Names:
    def __init__(self):
        self.module = self.current = Scope(walk.MODULE, None)
        self.nonlocals = set()  # Names that any `nonlocal` mentions.
        self._scopes = {}  # Keyed by the node that makes them.

    def open(self, kind, node):
        if node not in self._scopes:
            self._scopes[node] = Scope(kind, self.current)
        self.current = self._scopes[node]

    def close(self):
        self.current = self.current.parent

    def _nonlocal(self, scope, name):
        nearest = None
        at = scope.parent
        while at is not None:
            if at.kind == walk.FUNCTION:
                nearest = nearest or at
                binding = at.find(name)
                if binding is not None and not binding.is_nonlocal:
                    return binding
            at = at.parent
        return (nearest or self.module).make(name)

    def _target(self, scope, name):
        binding = scope.make(name)
        if binding.is_global:
            return self.module.make(name)
        return self._nonlocal(scope, name) if binding.is_nonlocal else binding

    def for_store(self, name):
        """Returns the binding that a plain assignment in the current scope changes."""
        return self._target(self.current, name)

    def for_walrus(self, name):
        """A walrus does not bind names of a comprehension."""
        scope = self.current
        while scope.kind == walk.COMPREHENSION:
            scope = scope.parent
        return self._target(scope, name)


def _end(node):
    return node.end_lineno, node.end_col_offset


class Declarer(walk.Walk):
    """Fills in Names, before anything is checked."""

    def __init__(self, names, modules):
        self.names = names
        self._modules = modules
        self._stretch = None  # Where the visited targets are certainly bound.
        self._defined = None  # Already declared by the statement just visited.
        self.open, self.close = names.open, names.close

    def _declare(self, name, thing=_OTHER, stretch=None):
        binding = self.names.for_store(name)
        binding.things.append(thing)
        if stretch is not None:
            binding.sure.append(stretch)

    def bind(self, name):
        defined, self._defined = self._defined, None
        if name != defined:
            self._declare(name)

    def _rest_of_block(self, node):
        """Everything written there runs after it."""
        return _end(node), _end(self.block[-1])

    def stmt(self, node):
        declare = getattr(self, "_declare_" + walk.kind_of(node), None)
        return True if declare is None else declare(node)

    def _declare_ClassDef(self, node):
        self._defined = node.name
        self._declare(node.name, (CLASS, (node, self.names.current)), self._rest_of_block(node))
        return True

    def _declare_FunctionDef(self, node):
        """Without decorators it cannot run before its name is bound, so its own body counts."""
        start, end = self._rest_of_block(node)
        if not node.decorator_list:
            start = node.lineno, node.col_offset
        self._defined = node.name
        self._declare(node.name, _OTHER, (start, end))
        return True

    _declare_AsyncFunctionDef = _declare_FunctionDef

    def _thing(self, value):
        if isinstance(value, (ast.Name, ast.Attribute)):
            return SAME, (value, self.names.current)
        text = joined_text(value)
        if text is not None:
            return TEXT, text
        if isinstance(value, ast.Call):
            return MADE, (value, self.names.current)
        return _OTHER

    def _declare_target(self, node, target, value):
        stretch = self._rest_of_block(node)
        if isinstance(target, ast.Name):
            self._declare(target.id, self._thing(value), stretch)
            return
        self._stretch = stretch
        self.visit(target)
        self._stretch = None

    def _declare_Assign(self, node):
        self.visit(node.value)
        for target in node.targets:
            self._declare_target(node, target, node.value)
        return False

    def _declare_AnnAssign(self, node):
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
            self._declare_target(node, node.target, node.value)
        elif isinstance(node.target, ast.Name):
            self.names.for_store(node.target.id)  # Binds nothing, but makes the name a local.
        return False

    def _declare_For(self, node):
        first, last = node.body[0], node.body[-1]
        self._stretch = (first.lineno, first.col_offset), _end(last)
        self.visit(node.target)
        self._stretch = None
        self.visit(node.iter)
        self.visit_stmts(node.body)
        self.visit_stmts(node.orelse)
        return False

    _declare_AsyncFor = _declare_For

    def _declare_Global(self, node):
        for name in node.names if self.names.current is not self.names.module else ():
            self.names.current.make(name).is_global = True
        return True

    def _declare_Nonlocal(self, node):
        for name in node.names:
            self.names.current.make(name).is_nonlocal = True
            self.names.nonlocals.add(name)
        return True

    def _declare_Try(self, node):
        """`except E as name` unbinds the name at its end."""
        for handler in node.handlers:
            if handler.name is not None:
                binding = self.names.for_store(handler.name)
                binding.is_deleted = binding.is_caught = True
        return True

    _declare_TryStar = _declare_Try

    def _declare_Import(self, node):
        for alias in node.names:
            module = alias.name
            if alias.asname is None:
                module = alias.name.partition(".")[0]
                self._modules.note_dotted(alias.name)
            name = alias.asname or module
            self._declare(name, (MODULE, module), self._rest_of_block(node))
        return False

    def _declare_ImportFrom(self, node):
        for alias in node.names:
            if alias.name == "*":
                continue
            thing = _OTHER
            if node.module is not None:
                member = self._modules.member(node.module, alias.name)
                if member.kind == "module":
                    thing = MODULE, member.name
                elif member.kind == "special":
                    thing = SPECIAL, member.name
                elif member.kind == "plain":
                    thing = MEMBER, f"{node.module}.{alias.name}"
            self._declare(alias.asname or alias.name, thing, self._rest_of_block(node))
        return False

    def expr(self, node):
        if isinstance(node, ast.NamedExpr):
            self.names.for_walrus(node.target.id).things.append(_OTHER)
            self.visit(node.value)
            return False
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if isinstance(node.ctx, ast.Del):
                self.names.for_store(node.id).is_deleted = True
            else:
                self._declare(node.id, _OTHER, self._stretch)
        return True
