"""Names and attributes under the strict policy: what they may be, and whether they may be used."""

import ast
import builtins
import sys
from types import ModuleType

from caisson.runner import lists, names, tools, walk
from caisson.runner.modules import ALLOWED, REFUSED

MAX_ALIAS_DEPTH = 40
MAX_ALIAS_STEPS = 200_000
_MAX_POSSIBLE = 8

BY_NAME = ("getattr", "setattr", "hasattr", "delattr")
FORMATS = ("format", "format_map")
_BOUND, _MAYBE_BOUND, _FREE = range(3)  # How far the lookup of a name goes.


def is_dunder(name):
    return len(name) > 2 and name.startswith("__") and name.endswith("__")


class Possible:
    """The relevant things that an expression may be."""

    def __init__(self):
        self.things = []  # (names.MODULE or names.SPECIAL, dotted name)
        self.is_too_much = False  # There are more than fit, or too many aliases of aliases.
        self.builtin = None  # The builtin it may be.
        self.left = None  # The module that earlier code of a session left under this name.

    def add(self, kind, name):
        if (kind, name) in self.things:
            return
        if len(self.things) == _MAX_POSSIBLE:
            self.is_too_much = True
        else:
            self.things.append((kind, name))

    def add_member(self, member):
        if member.kind == "module":
            self.add(names.MODULE, member.name)
        elif member.kind == "special":
            self.add(names.SPECIAL, member.name)


class Values(walk.Walk):
    def __init__(self, rules, modules, request, judgement):
        self.rules = rules
        self.modules = modules
        self.tools = {tools.name_of(entry): entry for entry in request.tools}
        self.imports = judgement.imports
        self.absent = judgement.absent
        self.findings = judgement.findings
        self.main = sys.modules["__main__"].__dict__
        self.names = names.Names()
        self.steps = 0  # Steps taken to follow aliases, for all names together.
        self.classes = 0  # Depth of nested class bodies.
        self.place = None  # The last visited node, for parts without a position.
        self.done = None  # Already checked: the walk skips it.
        self.formatting = None  # A `format` whose text _check_call checks.
        self.called = None  # A callee whose arguments _check_call checks.
        # May be modules, because the surrounding code makes no value of them.
        self.excused = [None, None]

    def refuse(self, rule, node, hint, message):
        # Before 3.10, names in an import have no position.
        self.findings.add(rule, node if hasattr(node, "lineno") else self.place, hint, message)

    def is_allowed_kind(self, node):
        self.place = node
        kind = walk.kind_of(node)
        if kind in self.rules.nodes:
            return True
        self.refuse("node", node, "write it in another way", f"{kind} is not allowed here")
        return False

    def is_mangled(self, name):
        """Inside a class it means another name."""
        return self.classes > 0 and len(name) > 2 and name.startswith("__") and not is_dunder(name)

    # What names and attributes may be.

    def _add_things(self, binding, possible, depth):
        if binding.is_followed:
            return
        binding.is_followed = True
        for kind, thing in binding.things:
            if kind in (names.MODULE, names.SPECIAL):
                possible.add(kind, thing)
            elif kind == names.SAME:
                self.evaluate(thing[1], thing[0], possible, depth + 1)
        binding.is_followed = False

    def _collect(self, scope, node, possible, depth):
        """Python's rules: a local of a function is nothing else; a name bound in a class body hides
        an outer one only once it is bound; other scopes do not see names of class bodies."""
        reach, at = _FREE, scope
        while at is not None:
            binding = at.find(node.id) if at is scope or at.kind != walk.CLASS else None
            if binding is None or binding.is_nonlocal:
                at = at.parent
                continue
            if binding.is_global:
                at = self.names.module
                binding = at.find(node.id)
                if binding is None:
                    return reach
            self._add_things(binding, possible, depth)
            is_local = at.kind in (walk.FUNCTION, walk.COMPREHENSION)
            if is_local or binding.is_sure_at(node):
                return _BOUND
            reach = _MAYBE_BOUND
            if at.kind == walk.MODULE:
                return reach
            at = at.parent
        return reach

    def _add_global(self, name, possible):
        """Adds the value that an earlier piece of a session left under that name."""
        if is_dunder(name) or name not in self.main:
            return False
        value = self.main[name]
        if isinstance(value, ModuleType):
            own = value.__dict__.get("__name__")
            is_path = sys.modules.get("os.path") is value
            possible.left = "os.path" if is_path else own if type(own) is str else name
            possible.add(names.MODULE, possible.left)
        else:
            special = self.modules.special_name(value)
            if special is not None:
                possible.add(names.SPECIAL, special)
        return True

    def _resolve(self, scope, node, possible, depth):
        reach = self._collect(scope, node, possible, depth)
        if reach == _BOUND:
            return reach
        is_left = self._add_global(node.id, possible)
        if is_left and reach == _FREE:
            return _BOUND
        if hasattr(builtins, node.id):
            possible.builtin = node.id
        return reach

    def evaluate(self, scope, node, possible, depth=0):
        """Determines what `node` may be, for an alias of it. Reports nothing; that happens where
        the expression stands."""
        self.steps += 1
        if depth > MAX_ALIAS_DEPTH or self.steps > MAX_ALIAS_STEPS:
            possible.is_too_much = True
        elif isinstance(node, ast.Name):
            self._resolve(scope, node, possible, depth)
        elif isinstance(node, ast.Attribute):
            owner = Possible()
            self.evaluate(scope, node.value, owner, depth + 1)
            possible.is_too_much |= owner.is_too_much
            for kind, name in owner.things:
                if kind == names.MODULE:
                    possible.add_member(self.modules.member(name, node.attr))
        return possible

    def here(self, node):
        return self.evaluate(self.names.current, node, Possible())

    # Values.

    def _check_builtin(self, node, reach):
        name = node.id
        if self.rules.builtins.get(name) is ALLOWED:
            return
        is_internal = is_dunder(name) and (reach == _FREE or name in self.main)
        if not hasattr(builtins, name) and not is_internal:
            return
        entry = self.tools.get(name)
        if reach == _FREE and entry is not None and tools.is_function(entry):
            return
        if reach == _MAYBE_BOUND:
            hint = "give your own variable or function another name"
            message = f"{name:.80} may be the builtin here, which is not allowed"
        else:
            hint = lists.builtin_hints.get(name, "write it without this builtin")
            message = f"the builtin {name:.80} is not allowed"
        self.refuse("builtin", node, hint, message)

    def _check_name(self, node, possible):
        if self.is_mangled(node.id):
            message = f"in a class, {node.id:.80} is another name than it seems"
            self.refuse("name", node, "write the name with one underscore", message)
            return
        reach = self._resolve(self.names.current, node, possible, 0)
        if possible.left is not None and self.modules.verdict(possible.left) is not ALLOWED:
            message = f"the module {possible.left:.80} is not allowed"
            self.refuse("module", node, "use the modules that are allowed", message)
        elif reach != _BOUND:
            self._check_builtin(node, reach)

    def _may_show_dict(self, receiver):
        """`x.__dict__` may be shown for an object of the code. The dict of one of Python's own
        classes holds everything that the check protects."""
        named = receiver.func if isinstance(receiver, ast.Call) else receiver
        if isinstance(named, ast.Attribute) and is_dunder(named.attr):
            return False
        what = self.here(named) if isinstance(named, ast.Name) else Possible()
        return what.builtin is None and not what.is_too_much and not what.things

    def _is_caught(self, receiver):
        """`except E as e: e.obj`."""
        at = self.names.current if isinstance(receiver, ast.Name) else None
        while at is not None:
            binding = at.find(receiver.id)
            if binding is not None and binding.is_caught:
                return True
            at = at.parent
        return False

    def check_attribute_name(self, place, receiver, name):
        """Checks whether `name` may be read from (written to, deleted from) an unknown object."""
        verdict = self.rules.attributes.get(name)
        if verdict is None and not is_dunder(name):
            return
        # With a dot, it is checked at run time.
        with_dot = receiver is not None and isinstance(place, ast.Attribute)
        if verdict is REFUSED and with_dot and name in tools.OWN_ATTRIBUTES and not self._is_caught(receiver):
            return
        if verdict is ALLOWED:
            if name == "__dict__" and (receiver is None or not self._may_show_dict(receiver)):
                hint = "use __dict__ on objects of your own classes only"
                message = f"the attribute {name:.80} is not allowed here"
                self.refuse("attribute", place, hint, message)
            return
        hints = lists.refused_attributes if verdict is REFUSED else lists.attribute_hints
        hint = hints.get(name, "write it without this attribute")
        self.refuse("attribute", place, hint, f"the attribute {name:.80} is not allowed")

    def refuse_member(self, place, module, name, member):
        if member.kind == "refused":
            hint, message = member.hint, f"{module:.80}.{name:.80} is not allowed"
        elif member.kind == "foreign":
            hint = lists.import_hints.get(member.name, "leave it out")
            message = (
                f"{module:.80}.{name:.80} reaches the module {member.name:.80}, which is not allowed"
            )
        elif member.kind == "private":
            hint = "use what the module offers publicly"
            message = f"{module:.80}.{name:.80} is private to the module"
        elif member.kind == "missing":
            version = "{}.{}".format(*sys.version_info)
            hint = f"use what Python {version} has under this module"
            message = f"the module {module:.80} has no {name:.80}"
        else:
            return
        self.refuse("attribute", place, hint, message)

    def check_members(self, place, receiver, owner, name, result):
        modules = 0
        for kind, module in owner.things:
            if kind != names.MODULE:
                continue
            member = self.modules.member(module, name)
            modules += member.kind != "unknown"
            # hasattr(math, "cbrt") is the way to ask.
            if member.kind == "missing" and isinstance(place, ast.Call):
                continue
            result.add_member(member)
            self.refuse_member(place, module, name, member)
        # A name that no module may have is checked as an attribute of an unknown object as well.
        if modules == 0:
            self.check_attribute_name(place, receiver, name)

    def _check_attribute(self, node, possible):
        owner = self.check_operand(node.value)
        if owner.is_too_much:
            message = f"it cannot be told what {node.attr:.80} is an attribute of"
            self.refuse("module", node, "use the module by one name", message)
            return
        self.check_members(node, node.value, owner, node.attr, possible)
        if not owner.things:
            self.check_below_package(node)
        if isinstance(node.ctx, ast.Load):
            if node is not self.called:
                self.check_uncalled(node, node.value, node.attr)
            if node.attr in FORMATS and node is not self.formatting:
                self.check_template(node, node.value)
        elif owner.things:
            message = f"modules cannot be changed: {node.attr:.80}"
            self.refuse("module", node, "keep it in a variable of your own", message)

    def check_operand(self, node):
        """Checks an expression and determines what it may be, without checking whether it may be
        used as a value."""
        possible = Possible()
        is_name = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if not is_name and not isinstance(node, ast.Attribute):
            self.visit(node)
        elif self.is_allowed_kind(node):
            (self._check_name if is_name else self._check_attribute)(node, possible)
        return possible

    def check_value(self, node):
        possible = self.check_operand(node)
        if possible.builtin in BY_NAME:
            hint = "call it where it stands, with the name as a literal"
            message = f"the builtin {possible.builtin:.80} is used as a value"
            self.refuse("builtin", node, hint, message)
        elif any(node is excused for excused in self.excused):
            return
        elif possible.is_too_much:
            hint = "use the module by one name"
            self.refuse("module", node, hint, "it cannot be told what this is")
        elif possible.things:
            kind, name = possible.things[0]
            if kind == names.MODULE:
                hint = "use the module's functions where you need them, as in json.dumps(x)"
                message = f"the module {name:.80} is used as a value"
            else:
                hint = "call it where it stands, with the names as literals"
                message = f"{name:.80} is used as a value"
            self.refuse("module", node, hint, message)
