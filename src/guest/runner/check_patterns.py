"""Class patterns under the strict policy.

`case Point(x, y)` reads the attributes that Point.__match_args__ names at run time. So the names
are fixed here, and the pattern becomes `case Point(a=x, b=y)`. The names are known for classes
written in the code, for classes of modules and for builtins. A class made in any other way may
contain any computed name."""

import ast
import builtins

from caisson import own
from caisson.runner import names, walk
from caisson.runner.check_values import MAX_ALIAS_DEPTH, MAX_ALIAS_STEPS, Possible, Values

# Decorators that return the class they were given.
_KEEP_CLASS = (
    "dataclasses.dataclass",
    "enum.unique",
    "functools.total_ordering",
    "typing.final",
    "typing.runtime_checkable",
)
_NAMED_TUPLES = ("collections.namedtuple", "typing.NamedTuple")
# Names bound in these may be bound or not.
_CONDITIONAL = ("If", "For", "While", "With", "Try", "TryStar", "Match")


class _Unknown(Exception):
    """It is unknown."""


class _Known:
    """The names in the __match_args__ of a class, and whether they are the fields of a dataclass,
    to which a derived dataclass adds its own."""

    def __init__(self, found=(), are_fields=False):
        self.are_fields = are_fields
        self.names = []
        for name in found:
            self.add(name)

    def add(self, name):
        if type(name) is not str:
            raise _Unknown
        if name not in self.names:
            self.names.append(name)


def _keyword(keywords, name):
    return next((one for one in keywords if one.arg in (None, name)), None)


def _is_left_at(keywords, name, value):
    """Returns whether an argument has its default value, which may be written out."""
    given = _keyword(keywords, name)
    if given is None:
        return True
    return given.arg is not None and isinstance(given.value, ast.Constant) and given.value.value is value


def _mentions(node, name):
    """Returns whether a part of an annotation has that name: ClassVar[int], typing.ClassVar,
    "ClassVar"."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr == name
    if isinstance(node, ast.Name):
        return node.id == name
    return isinstance(node, ast.Constant) and type(node.value) is str and name in node.value


def _lookup(cls, name):
    for owner in type.__dict__["__mro__"].__get__(cls):
        held = type.__dict__["__dict__"].__get__(owner)
        if name in held:
            return held[name]
    return None


def _in_type(value):
    """A class that already exists can be inspected."""
    if not issubclass(type(value), type):
        raise _Unknown
    found = _lookup(value, "__match_args__")
    if found is not None and type(found) is not tuple:
        raise _Unknown
    return _Known(found or (), _lookup(value, "__dataclass_fields__") is not None)


def _add_literals(known, node):
    """Each field of a literal list: "name", or ("name", type)."""
    if not isinstance(node, (ast.List, ast.Tuple)):
        raise _Unknown
    for item in node.elts:
        if isinstance(item, ast.Tuple) and item.elts:
            item = item.elts[0]
        if not isinstance(item, ast.Constant):
            raise _Unknown
        known.add(item.value)
    return known


def _is_positional(node):
    """Returns whether the field is set by position, unlike `field(init=False)`."""
    if _mentions(node.annotation, "ClassVar"):
        return False
    init = _keyword(node.value.keywords, "init") if isinstance(node.value, ast.Call) else None
    return init is None or not isinstance(init.value, ast.Constant) or init.value.value is not False


def _add_fields(known, body):
    for node in body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        keywords = node.value.keywords if isinstance(node.value, ast.Call) else ()
        if _mentions(node.annotation, "KW_ONLY") or not _is_left_at(keywords, "kw_only", False):
            raise _Unknown
        if _is_positional(node):
            known.add(node.target.id)
    return known


def _written_names(body):
    """Returns the literal that a class body assigns to __match_args__, or None."""
    written = None
    for node in body:
        target = None
        if isinstance(node, ast.AnnAssign):
            target = node.target
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
        if isinstance(target, ast.Name) and target.id == "__match_args__":
            written = node.value
    return written


class Patterns(Values):
    def check_class_pattern(self, node):
        if node.patterns and not self._is_builtin_class(node.cls):
            self._settle(node)
        for name in node.kwd_attrs:
            self.check_attribute_name(node.cls, None, name)
            self.check_evaluator(node.cls, name)

    def _settle(self, node):
        try:
            found = self._class(self.names.current, node.cls, 0).names
        except _Unknown:
            found = []
        count = len(node.patterns)
        if len(found) < count:
            hint = "name the attributes: Point(x=0, y=0)"
            message = "it cannot be told which attributes this pattern reads"
            self.refuse("attribute", node, hint, message)
            return
        node.kwd_attrs = found[:count] + node.kwd_attrs
        node.kwd_patterns = node.patterns + node.kwd_patterns
        node.patterns = []

    def _left_or_builtin(self, name):
        """Returns the value of `name` if nothing in this code binds it."""
        return self.main[name] if name in self.main else getattr(builtins, name, None)

    def _is_builtin_class(self, node):
        """`case int(n)`: matches the object itself, and Python's own classes cannot be changed."""
        scope = self.names.current
        if isinstance(node, ast.Name) and self._meaning(scope, node.id) is None:
            value = self._left_or_builtin(node.id)
        else:
            dotted = self._member_of(scope, node)
            value = None if dotted is None else self.modules.loaded_member(dotted)
        return type(value) is type and own.is_pythons(value) and _lookup(value, "__match_args__") is None

    def _class(self, scope, node, depth):
        self.steps += 1
        if depth > MAX_ALIAS_DEPTH or self.steps > MAX_ALIAS_STEPS:
            raise _Unknown
        if isinstance(node, ast.Subscript):
            node = node.value  # Generic[T]
        if not isinstance(node, ast.Name):
            dotted = self._member_of(scope, node)
            return _in_type(None if dotted is None else self.modules.loaded_member(dotted))
        binding = self._meaning(scope, node.id)
        if binding is None:
            return _in_type(self._left_or_builtin(node.id))
        found = [self._thing(kind, thing, depth) for kind, thing in binding.things]
        if not found or any(one.names != found[0].names for one in found):
            raise _Unknown
        return found[0]

    def _thing(self, kind, thing, depth):
        if kind == names.SAME:
            return self._class(thing[1], thing[0], depth + 1)
        if kind == names.MEMBER:
            return _in_type(self.modules.loaded_member(thing))
        if kind == names.CLASS:
            return self._written(*thing, depth)
        if kind == names.MADE:
            return self._named_tuple(*thing)
        raise _Unknown

    def _meaning(self, scope, name):
        """Returns the binding that `name` means in `scope`; None if nothing in the code binds it.
        If it is unknown, returns a binding without things."""
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
        """Returns the dotted name of the module member that `node` is, or None."""
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

    def _is_dataclass(self, node, scope):
        is_dataclass = False
        for decorator in node.decorator_list:
            is_call = isinstance(decorator, ast.Call)
            name = self._member_of(scope, decorator.func if is_call else decorator)
            if name not in _KEEP_CLASS:
                raise _Unknown
            if name == "dataclasses.dataclass":
                is_dataclass = True
                keywords = decorator.keywords if is_call else ()
                if not _is_left_at(keywords, "kw_only", False) or not _is_left_at(keywords, "match_args", True):
                    raise _Unknown
        return is_dataclass

    def _inherited(self, node, scope, depth):
        """Returns the names of the base classes, and whether the class is a named tuple itself."""
        meta = _keyword(node.keywords, "metaclass")
        if meta and (meta.arg is None or self._member_of(scope, meta.value) != "abc.ABCMeta"):
            raise _Unknown
        known, is_named_tuple = _Known(), False
        for base in node.bases:
            if self._member_of(scope, base) == "typing.NamedTuple":
                is_named_tuple = True
                continue
            one = self._class(scope, base, depth + 1)
            if one.names and known.names:
                raise _Unknown  # The order of several bases is not followed.
            if one.names:
                known = _Known(one.names, one.are_fields)
        return known, is_named_tuple

    def _written(self, node, scope, depth):
        if any(walk.kind_of(one) in _CONDITIONAL for one in node.body):
            raise _Unknown
        is_dataclass = self._is_dataclass(node, scope)
        known, is_named_tuple = self._inherited(node, scope, depth)
        written = _written_names(node.body)
        if written is not None:
            return _add_literals(_Known(), written)
        if is_dataclass and not known.are_fields and known.names:
            raise _Unknown
        known.are_fields = known.are_fields or is_dataclass
        return _add_fields(known, node.body) if is_dataclass or is_named_tuple else known

    def _named_tuple(self, node, scope):
        """`Point = namedtuple("Point", "x y")`."""
        is_plain = len(node.args) == 2 and not _keyword(node.keywords, "rename")
        if not is_plain or self._member_of(scope, node.func) not in _NAMED_TUPLES:
            raise _Unknown
        fields = node.args[1]
        if not isinstance(fields, ast.Constant):
            return _add_literals(_Known(), fields)
        if type(fields.value) is not str:
            raise _Unknown
        return _Known(fields.value.replace(",", " ").split())
