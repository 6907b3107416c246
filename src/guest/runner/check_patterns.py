"""Class patterns under the strict policy.

`case Point(x, y)` reads the attributes that Point.__match_args__ names. Where those come from is known for classes written
in the code, for classes of modules and for builtins; a class that was made in any other way may name whatever its maker
computed.
"""

import ast

from caisson.runner import names, walk
from caisson.runner.check_values import MAX_ALIAS_DEPTH, MAX_ALIAS_STEPS, Possible, Values, is_dunder
from caisson.runner.modules import ALLOWED, REFUSED

# Decorators that give back the class they got.
_KEEP_CLASS = (
    "dataclasses.dataclass",
    "enum.unique",
    "functools.total_ordering",
    "typing.final",
    "typing.runtime_checkable",
)
_NAMED_TUPLES = ("collections.namedtuple", "typing.NamedTuple")


class Patterns(Values):
    def check_class_pattern(self, node):
        for name in node.kwd_attrs:
            self.check_attribute_name(node.cls, None, name)
        if node.patterns and not self._is_known_class(self.names.current, node.cls, 0):
            hint = "name the attributes: Point(x=0, y=0)"
            message = "it cannot be told which attributes this pattern reads"
            self.refuse("attribute", node, hint, message)

    def _is_known_class(self, scope, node, depth):
        self.steps += 1
        if depth > MAX_ALIAS_DEPTH or self.steps > MAX_ALIAS_STEPS:
            return False
        if isinstance(node, ast.Subscript):
            node = node.value  # Generic[T]
        if not isinstance(node, ast.Name):
            return self._member_of(scope, node) is not None
        binding = self._meaning(scope, node.id)
        if binding is None:
            left = self.main.get(node.id)
            return left is None or self._is_plain_type(left)  # Or a builtin.
        return bool(binding.things) and all(
            self._is_known_thing(kind, thing, depth) for kind, thing in binding.things
        )

    def _is_known_thing(self, kind, thing, depth):
        if kind == names.CLASS:
            return self._is_written_class(*thing, depth)
        if kind == names.MADE:
            return self._is_named_tuple(*thing)
        if kind == names.SAME:
            return self._is_known_class(thing[1], thing[0], depth + 1)
        return kind == names.MEMBER

    def _meaning(self, scope, name):
        """The binding that `name` means in `scope`; None if nothing in the code binds it. One without things if that
        cannot be told."""
        unknown = names.Binding()
        if name in self.names.nonlocals:
            return unknown
        at = scope
        while at is not None:
            found = at.find(name) if at is scope or at.kind != walk.CLASS else None
            if found is not None:
                if at.kind == walk.CLASS:
                    return unknown
                return self.names.module.find(name) or unknown if found.is_global else found
            at = at.parent
        return None

    def _member_of(self, scope, node):
        """The dotted name of the module's member that `node` is, or None."""
        if isinstance(node, ast.Name):
            binding = self._meaning(scope, node.id)
            things = binding.things if binding is not None else []
            return things[0][1] if len(things) == 1 and things[0][0] == names.MEMBER else None
        if not isinstance(node, ast.Attribute):
            return None
        owner = self.evaluate(scope, node.value, Possible())
        if owner.is_too_much or len(owner.things) != 1 or owner.things[0][0] != names.MODULE:
            return None
        return f"{owner.things[0][1]}.{node.attr}"

    def _is_written_class(self, node, scope, depth):
        if any(keyword.arg in (None, "metaclass") for keyword in node.keywords):
            return False
        for decorator in node.decorator_list:
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self._member_of(scope, named) not in _KEEP_CLASS:
                return False
        return all(self._is_known_class(scope, base, depth + 1) for base in node.bases)

    def _is_plain_name(self, name):
        """An attribute that anything may be asked for."""
        verdict = self.rules.attributes.get(name) if type(name) is str else REFUSED
        return verdict is ALLOWED or (verdict is None and not is_dunder(name))

    def _is_named_tuple(self, node, scope):
        """`Point = namedtuple("Point", "x y")`."""
        if len(node.args) != 2 or self._member_of(scope, node.func) not in _NAMED_TUPLES:
            return False
        fields = node.args[1]
        if isinstance(fields, ast.Constant):
            text = fields.value
            return type(text) is str and all(map(self._is_plain_name, text.replace(",", " ").split()))
        return isinstance(fields, (ast.List, ast.Tuple)) and all(map(self._is_field, fields.elts))

    def _is_field(self, node):
        """Of a literal list: "name", or ("name", type)."""
        if isinstance(node, ast.Tuple) and node.elts:
            node = node.elts[0]
        return isinstance(node, ast.Constant) and self._is_plain_name(node.value)

    def _is_plain_type(self, value):
        """What an earlier piece of a session left: it can be looked at."""
        if type(value) is not type:
            return False  # With a metaclass, nothing is certain.
        for owner in type.__dict__["__mro__"].__get__(value):
            fields = type.__dict__["__dict__"].__get__(owner).get("__match_args__")
            if fields is not None:
                return type(fields) is tuple and all(map(self._is_plain_name, fields))
        return True
