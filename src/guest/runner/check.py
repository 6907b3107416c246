"""The strict policy on a tree (guest/check.h): modules and attribute readers are never values, so no alias can carry them
out of sight; what cannot be known is refused, with a hint."""

import ast
import builtins
import sys
from types import ModuleType

from caisson.runner import lists, names, tools, walk
from caisson.runner.modules import ALLOWED, REFUSED

_MAX_POSSIBLE = 8
_MAX_ALIAS_DEPTH = 40
_MAX_ALIAS_STEPS = 200_000

_COPY_HINT = "define __copy__ or __deepcopy__"
_OTHER_NAME = "choose another name"
# Names that Python itself looks up: nobody else binds them.
_UNBINDABLE = {
    "__annotations__": "write the annotations where they belong",
    "__build_class__": _OTHER_NAME,
    "__builtins__": _OTHER_NAME,
    "__getstate__": _COPY_HINT,
    "__globals__": _OTHER_NAME,
    "__import__": _OTHER_NAME,
    "__loader__": _OTHER_NAME,
    "__match_args__": "write it as an assignment in a class, with literal names",
    "__prepare__": "write the names in the class body",
    "__reduce__": _COPY_HINT,
    "__reduce_ex__": _COPY_HINT,
    "__spec__": _OTHER_NAME,
}
# Decorators that give back the class they got.
_KEEP_CLASS = (
    "dataclasses.dataclass",
    "enum.unique",
    "functools.total_ordering",
    "typing.final",
    "typing.runtime_checkable",
)
_NAMED_TUPLES = ("collections.namedtuple", "typing.NamedTuple")
_BY_NAME = ("getattr", "setattr", "hasattr", "delattr")
_FORMATS = ("format", "format_map")
_BOUND, _MAYBE_BOUND, _FREE = range(3)  # How far a name reaches.


def is_dunder(name):
    return len(name) > 2 and name.startswith("__") and name.endswith("__")


class Possible:
    """What an expression may be, as far as it matters."""

    def __init__(self):
        self.things = []  # (names.MODULE or names.SPECIAL, dotted name)
        self.is_too_much = False  # More than fit, or aliases of aliases without end.
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


def _literal_text(args, index):
    """The str that is written as that argument, or None."""
    if index >= len(args) or any(isinstance(arg, ast.Starred) for arg in args[: index + 1]):
        return None
    arg = args[index]
    text = arg.value if isinstance(arg, ast.Constant) else None
    return text if type(text) is str and text else None


class Checker(walk.Walk):
    def __init__(self, rules, modules, request, absent, findings):
        self._rules = rules
        self._modules = modules
        self._tools = {tools.name_of(entry): entry for entry in request.tools}
        self._absent = absent
        self._findings = findings
        self._main = sys.modules["__main__"].__dict__
        self._names = names.Names()
        self._steps = 0  # Taken after aliases, over all names.
        self._classes = 0  # How many class bodies we are inside of.
        self._place = None  # The node visited last, for what has no place of its own.
        self._done = None  # Checked already: the walk leaves it out.
        self._formatting = None  # A `format` whose text _check_call sees to.
        self._excused = [None, None]  # May be modules, since what is around makes no value of them.

    def check(self, tree):
        names.Declarer(self._names, self._modules).visit_stmts(tree.body)
        self.visit_stmts(tree.body)

    def open(self, kind, node):
        self._classes += kind == walk.CLASS
        self._names.open(kind, node)

    def close(self):
        self._classes -= self._names.current.kind == walk.CLASS
        self._names.close()

    def _refuse(self, rule, node, hint, message):
        # Before 3.10, names in an import have no place of their own.
        self._findings.add(rule, node if hasattr(node, "lineno") else self._place, hint, message)

    def _is_allowed_kind(self, node):
        self._place = node
        kind = walk.kind_of(node)
        if kind in self._rules.nodes:
            return True
        self._refuse("node", node, "write it in another way", f"{kind} is not allowed here")
        return False

    # Names that are bound.

    def bind(self, name):
        if name in _UNBINDABLE:
            message = f"{name:.80} cannot be assigned"
            self._refuse("name", self._place, _UNBINDABLE[name], message)

    def _may_name_module(self, name):
        """A module may be bound to it, so that the check knows it wherever it is used."""
        scope = self._names.current
        binding = scope.find(name)
        is_nonlocal = binding is not None and binding.is_nonlocal
        return scope.kind != walk.CLASS and not self._is_mangled(name) and not is_nonlocal

    def _is_mangled(self, name):
        """In a class, another name than it seems."""
        return self._classes > 0 and len(name) > 2 and name.startswith("__") and not is_dunder(name)

    # Imports.

    def _check_module_name(self, alias, name):
        if not self._may_name_module(name):
            self._refuse(
                "import",
                alias,
                "import it at the top of the code",
                f"{name:.80} is imported where it cannot be followed",
            )

    def _refuse_import(self, alias, module, verdict):
        top = module.partition(".")[0]
        if verdict is None and top in self._absent:
            return  # Said already.
        otherwise = "use the modules that are allowed, or a tool of the host"
        hint = lists.import_hints.get(top, otherwise)
        self._refuse("import", alias, hint, f"the module {module:.80} is not allowed")

    def _check_below_os(self, alias, module):
        """Below os only what the list of os attributes has: `import os.path`."""
        if module.startswith("os.") and self._rules.os_attributes.get(module[3:]) is not ALLOWED:
            self._refuse("import", alias, "use pathlib", f"the module {module:.80} is not allowed")

    def _check_Import(self, node):
        for alias in node.names:
            verdict = self._modules.verdict(alias.name)
            if verdict is ALLOWED:
                self._check_below_os(alias, alias.name)
            else:
                self._refuse_import(alias, alias.name, verdict)
            self._check_module_name(alias, alias.asname or alias.name)
            if alias.asname is not None:
                self.bind(alias.asname)
        return False

    def _check_ImportFrom(self, node):
        module = node.module
        if node.level or module is None:
            hint = "import a module of the standard library by its full name"
            self._refuse("import", node, hint, "relative imports are not allowed")
            return False
        verdict = self._modules.verdict(module)
        for alias in node.names:
            # `from urllib import parse`, where urllib.parse is allowed and urllib is not.
            is_listed = self._rules.imports.get(f"{module}.{alias.name}") is ALLOWED
            if verdict is not ALLOWED and not is_listed:
                self._refuse_import(alias, module, verdict)
                break
            self._check_below_os(alias, module)
            self._check_from_one(alias, module)
        return False

    def _check_from_one(self, alias, module):
        if alias.name == "*":
            if not self._modules.star_is_plain(module):
                message = f"everything of {module:.80} is not allowed"
                self._refuse("import", alias, "import the names you need", message)
            return
        member = self._modules.member(module, alias.name)
        self._refuse_member(alias, module, alias.name, member)
        name = alias.asname or alias.name
        self.bind(name)
        if member.kind in ("module", "special"):
            self._check_module_name(alias, name)

    # Statements.

    def stmt(self, node):
        if not self._is_allowed_kind(node):
            return False
        check = getattr(self, "_check_" + walk.kind_of(node), None)
        return True if check is None else check(node)

    def _check_Assign(self, node):
        # `name = module` gives a module a second name, if that name can be followed.
        is_alias = isinstance(node.value, (ast.Name, ast.Attribute)) and all(
            isinstance(target, ast.Name) and self._may_name_module(target.id)
            for target in node.targets
        )
        if is_alias:
            self._excused[0] = node.value
        for target in node.targets:
            self._check_match_args(target, node.value)
        return True

    def _check_AnnAssign(self, node):
        target = node.target
        is_name = isinstance(target, ast.Name)
        # A dataclass makes __match_args__ of its fields.
        in_class = self._names.current.kind == walk.CLASS
        if in_class and is_name and target.id != "__match_args__":
            self._check_attribute_name(target, None, target.id)
        if node.value is not None:
            if is_name and self._may_name_module(target.id):
                self._excused[0] = node.value
            self._check_match_args(target, node.value)
        return True

    def _check_match_args(self, target, value):
        """A class pattern reads the attributes that __match_args__ names."""
        if not isinstance(target, ast.Name) or target.id != "__match_args__":
            return
        self._done = target  # Bound in any other way, it is refused.
        is_literal = isinstance(value, (ast.Tuple, ast.List))
        for item in value.elts if is_literal else ():
            is_text = isinstance(item, ast.Constant) and type(item.value) is str
            is_literal = is_literal and is_text
            if is_text:
                self._check_attribute_name(item, None, item.value)
        if not is_literal:
            hint = "write the names as literals"
            self._refuse("attribute", value, hint, "__match_args__ needs its names as literals")

    def _check_Global(self, node):
        for name in node.names:
            self.bind(name)
        return True

    def _excuse_test(self, node):
        self._excused[0] = node.test
        return True

    _check_If = _check_While = _check_Assert = _excuse_test

    # Expressions.

    def expr(self, node):
        if node is self._done:
            return False
        if not self._is_allowed_kind(node):
            return False
        check = getattr(self, "_check_" + walk.kind_of(node), None)
        return True if check is None else check(node)

    _check_IfExp = _excuse_test

    def _check_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self._check_value(node)
        else:
            self.bind(node.id)
        return True

    def _check_Attribute(self, node):
        self._check_value(node)
        return False

    def _check_Compare(self, node):
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):  # `numpy is None`
            self._excused = [node.left, node.comparators[0]]
        return True

    def _check_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self._excused[0] = node.operand
        return True

    def _check_Constant(self, node):
        """Some of Python's own functions evaluate what annotations say as text."""
        text = node.value
        if self.annotations and type(text) is str and ("(" in text or "__" in text):
            self._refuse("annotation", node, "write the name of a type", "this annotation is code")
        return True

    def pattern(self, node):
        if self._is_allowed_kind(node) and walk.kind_of(node) == "MatchClass":
            self._check_class_pattern(node)

    # Class patterns: `case Point(x, y)` reads the attributes that Point.__match_args__ names. Where those come from is
    # known for classes written in the code, for classes of modules and for builtins; a class that was made in any
    # other way may name whatever its maker computed.

    def _check_class_pattern(self, node):
        for name in node.kwd_attrs:
            self._check_attribute_name(node.cls, None, name)
        if node.patterns and not self._is_known_class(self._names.current, node.cls, 0):
            hint = "name the attributes: Point(x=0, y=0)"
            message = "it cannot be told which attributes this pattern reads"
            self._refuse("attribute", node, hint, message)

    def _is_known_class(self, scope, node, depth):
        self._steps += 1
        if depth > _MAX_ALIAS_DEPTH or self._steps > _MAX_ALIAS_STEPS:
            return False
        if isinstance(node, ast.Subscript):
            node = node.value  # Generic[T]
        if not isinstance(node, ast.Name):
            return self._member_of(scope, node) is not None
        binding = self._meaning(scope, node.id)
        if binding is None:
            left = self._main.get(node.id)
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
        if name in self._names.nonlocals:
            return unknown
        at = scope
        while at is not None:
            found = at.find(name) if at is scope or at.kind != walk.CLASS else None
            if found is not None:
                if at.kind == walk.CLASS:
                    return unknown
                return self._names.module.find(name) or unknown if found.is_global else found
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
        owner = self._evaluate(scope, node.value, Possible())
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
        verdict = self._rules.attributes.get(name) if type(name) is str else REFUSED
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

    # What names and attributes may be.

    def _add_things(self, binding, possible, depth):
        if binding.is_followed:
            return
        binding.is_followed = True
        for kind, thing in binding.things:
            if kind in (names.MODULE, names.SPECIAL):
                possible.add(kind, thing)
            elif kind == names.SAME:
                self._evaluate(thing[1], thing[0], possible, depth + 1)
        binding.is_followed = False

    def _collect(self, scope, node, possible, depth):
        """Python's rules: a function's local is that and nothing else; what a class body binds hides what is outside only
        once it is bound; other scopes do not see into class bodies."""
        reach, at = _FREE, scope
        while at is not None:
            binding = at.find(node.id) if at is scope or at.kind != walk.CLASS else None
            if binding is None or binding.is_nonlocal:
                at = at.parent
                continue
            if binding.is_global:
                at = self._names.module
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
        """What an earlier piece of a session left under that name."""
        if is_dunder(name) or name not in self._main:
            return False
        value = self._main[name]
        if isinstance(value, ModuleType):
            own = value.__dict__.get("__name__")
            is_path = sys.modules.get("os.path") is value
            possible.left = "os.path" if is_path else own if type(own) is str else name
            possible.add(names.MODULE, possible.left)
        else:
            special = self._modules.special_name(value)
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

    def _evaluate(self, scope, node, possible, depth=0):
        """What `node` may be, for an alias of it: nothing is reported, since that happens where it stands."""
        self._steps += 1
        if depth > _MAX_ALIAS_DEPTH or self._steps > _MAX_ALIAS_STEPS:
            possible.is_too_much = True
        elif isinstance(node, ast.Name):
            self._resolve(scope, node, possible, depth)
        elif isinstance(node, ast.Attribute):
            owner = Possible()
            self._evaluate(scope, node.value, owner, depth + 1)
            possible.is_too_much |= owner.is_too_much
            for kind, name in owner.things:
                if kind == names.MODULE:
                    possible.add_member(self._modules.member(name, node.attr))
        return possible

    def _here(self, node):
        return self._evaluate(self._names.current, node, Possible())

    # Values.

    def _check_builtin(self, node, reach):
        name = node.id
        if self._rules.builtins.get(name) is ALLOWED:
            return
        is_internal = is_dunder(name) and (reach == _FREE or name in self._main)
        if not hasattr(builtins, name) and not is_internal:
            return
        entry = self._tools.get(name)
        if reach == _FREE and entry is not None and tools.is_function(entry):
            return
        if reach == _MAYBE_BOUND:
            hint = "give your own variable or function another name"
            message = f"{name:.80} may be the builtin here, which is not allowed"
        else:
            hint = lists.builtin_hints.get(name, "write it without this builtin")
            message = f"the builtin {name:.80} is not allowed"
        self._refuse("builtin", node, hint, message)

    def _check_name(self, node, possible):
        if self._is_mangled(node.id):
            message = f"in a class, {node.id:.80} is another name than it seems"
            self._refuse("name", node, "write the name with one underscore", message)
            return
        reach = self._resolve(self._names.current, node, possible, 0)
        if possible.left is not None and self._modules.verdict(possible.left) is not ALLOWED:
            message = f"the module {possible.left:.80} is not allowed"
            self._refuse("module", node, "use the modules that are allowed", message)
        elif reach != _BOUND:
            self._check_builtin(node, reach)

    def _may_show_dict(self, receiver):
        """`x.__dict__` shows what an object of the code's own has; that of a class of Python's has everything that the
        check keeps away from."""
        named = receiver.func if isinstance(receiver, ast.Call) else receiver
        if isinstance(named, ast.Attribute) and is_dunder(named.attr):
            return False
        what = self._here(named) if isinstance(named, ast.Name) else Possible()
        return what.builtin is None and not what.is_too_much and not what.things

    def _check_attribute_name(self, place, receiver, name):
        """Whether `name` may be read from (written to, deleted from) something unknown."""
        verdict = self._rules.attributes.get(name)
        if verdict is None and not is_dunder(name):
            return
        on_self = isinstance(receiver, ast.Name) and receiver.id == "self"
        if verdict is REFUSED and name == "obj" and on_self:
            return
        if verdict is ALLOWED:
            if name == "__dict__" and (receiver is None or not self._may_show_dict(receiver)):
                hint = "use __dict__ on objects of your own classes only"
                message = f"the attribute {name:.80} is not allowed here"
                self._refuse("attribute", place, hint, message)
            return
        hints = lists.refused_attributes if verdict is REFUSED else lists.attribute_hints
        hint = hints.get(name, "write it without this attribute")
        self._refuse("attribute", place, hint, f"the attribute {name:.80} is not allowed")

    def _refuse_member(self, place, module, name, member):
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
        self._refuse("attribute", place, hint, message)

    def _check_members(self, place, receiver, owner, name, result):
        modules = 0
        for kind, module in owner.things:
            if kind != names.MODULE:
                continue
            member = self._modules.member(module, name)
            modules += member.kind != "unknown"
            # hasattr(math, "cbrt") is how to ask.
            if member.kind == "missing" and isinstance(place, ast.Call):
                continue
            result.add_member(member)
            self._refuse_member(place, module, name, member)
        # What no module may have, nothing else that goes by the same name can be asked for.
        if modules == 0:
            self._check_attribute_name(place, receiver, name)

    def _check_attribute(self, node, possible):
        owner = self._check_operand(node.value)
        if owner.is_too_much:
            message = f"it cannot be told what {node.attr:.80} is an attribute of"
            self._refuse("module", node, "use the module by one name", message)
            return
        self._check_members(node, node.value, owner, node.attr, possible)
        if isinstance(node.ctx, ast.Load):
            if node.attr in _FORMATS and node is not self._formatting:
                self._check_template(node, node.value)
        elif owner.things:
            message = f"modules cannot be changed: {node.attr:.80}"
            self._refuse("module", node, "keep it in a variable of your own", message)

    def _check_operand(self, node):
        """Checks an expression and says what it may be, without asking whether it may be used as a value."""
        possible = Possible()
        is_name = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if not is_name and not isinstance(node, ast.Attribute):
            self.visit(node)
        elif self._is_allowed_kind(node):
            (self._check_name if is_name else self._check_attribute)(node, possible)
        return possible

    def _check_value(self, node):
        possible = self._check_operand(node)
        if possible.builtin in _BY_NAME:
            hint = "call it where it stands, with the name as a literal"
            message = f"the builtin {possible.builtin:.80} is used as a value"
            self._refuse("builtin", node, hint, message)
        elif any(node is excused for excused in self._excused):
            return
        elif possible.is_too_much:
            hint = "use the module by one name"
            self._refuse("module", node, hint, "it cannot be told what this is")
        elif possible.things:
            kind, name = possible.things[0]
            if kind == names.MODULE:
                hint = "use the module's functions where you need them, as in json.dumps(x)"
                message = f"the module {name:.80} is used as a value"
            else:
                hint = "call it where it stands, with the names as literals"
                message = f"{name:.80} is used as a value"
            self._refuse("module", node, hint, message)

    # Templates: str.format reads attributes too.

    def _check_fields(self, place, text):
        """Every brace may open a field: "{{" too, so that no rule of the format language needs to be known."""
        for i, character in enumerate(text):
            if character == "{":
                self._check_field(place, text, i + 1)

    def _check_field(self, place, text, at):
        def skip(at):
            while at < len(text) and text[at] not in ".[!:{}":
                at += 1
            return at

        at = skip(at)
        while at < len(text):
            character, at = text[at], at + 1
            if character == "[":
                at = text.find("]", at) + 1 or len(text)
                continue
            start, at = at, skip(at)
            if character != "." or at == start:
                return
            self._check_attribute_name(place, None, text[start:at])

    def _only_binding(self, name):
        """The binding whose value `name` has in the current scope, if that is all it can have."""
        at = None if name in self._names.nonlocals else self._names.current
        while at is not None:
            binding = at.find(name)
            if binding is not None:
                if at.kind == walk.CLASS:
                    return None
                return self._names.module.find(name) if binding.is_global else binding
            at = at.parent
        return None

    def _refuse_template(self, place):
        hint = "use an f-string, or call format on the string literal itself"
        message = "it cannot be told which attributes this text makes format() read"
        self._refuse("format", place, hint, message)

    def _check_template(self, place, text):
        if isinstance(text, ast.Constant):
            if type(text.value) is str:
                self._check_fields(place, text.value)
            return
        binding = self._only_binding(text.id) if isinstance(text, ast.Name) else None
        things = binding.things if binding is not None else []
        if not things or any(kind != names.TEXT for kind, _ in things):
            self._refuse_template(place)
            return
        for _, one in things:
            self._check_fields(place, one)

    # Calls.

    def _check_Call(self, node):
        function = node.func
        method = function.attr if isinstance(function, ast.Attribute) else None
        if method in ("__setattr__", "__delattr__"):
            self._check_setattr_method(node)
            self._done = function
            return True
        if method in _FORMATS:
            self._formatting = function
            self._check_format_call(node)
        callee = self._check_operand(function)
        self._done = function
        if callee.is_too_much:
            hint = "use the module by one name"
            self._refuse("module", node, hint, "it cannot be told what is called here")
            return True
        for kind, name in callee.things:
            if kind == names.SPECIAL:
                is_wrapper = name.startswith("functools.")
                (self._check_wrapper if is_wrapper else self._check_getter)(node, name)
        if callee.builtin in _BY_NAME:
            self._check_named_access(node, callee.builtin)
        elif callee.builtin == "type":
            is_one = len(node.args) == 1 and not isinstance(node.args[0], ast.Starred)
            if not is_one or node.keywords:
                message = "type with more than one argument is not allowed"
                self._refuse("builtin", node, "write a class statement", message)
        return True

    def _check_format_call(self, node):
        """`text.format(...)`, `str.format(text, ...)`; without arguments there is nothing to read from."""
        if not node.args and not node.keywords:
            return
        text = node.func.value
        if self._here(text).builtin == "str" and node.args:
            text = node.args[0]
        self._check_template(node.func, text)

    def _refuse_computed(self, node, function):
        hint = "write the attribute's name as a literal; for names that vary, use a dict"
        self._refuse("attribute", node, hint, f"{function:.80} needs the attribute's name as a literal")

    def _check_named_access(self, node, function):
        """getattr(x, "name"), and its like."""
        name = None if node.keywords else _literal_text(node.args, 1)
        if name is None:
            self._refuse_computed(node, function)
            return
        receiver = node.args[0]
        if name in _FORMATS:
            self._check_template(node, receiver)
            return
        owner, result = self._here(receiver), Possible()
        self._check_members(node, receiver, owner, name, result)
        self._excused[0] = receiver
        is_change = function in ("setattr", "delattr")
        is_read = function == "getattr"
        if (is_change and owner.things) or (is_read and result.things) or owner.is_too_much:
            message = f"{function:.80} is used on a module"
            self._refuse("module", node, "write it with a dot", message)

    def _check_getter(self, node, function):
        """operator.attrgetter("a.b", "c"), operator.methodcaller("name", ...)."""
        count = 1 if function == "operator.methodcaller" else len(node.args)
        texts = [_literal_text(node.args, i) for i in range(count)]
        if not texts or None in texts:
            self._refuse_computed(node, function)
            return
        for name in ".".join(texts).split("."):
            if name in _FORMATS:
                self._refuse_template(node)
            elif name:
                self._check_attribute_name(node, None, name)

    def _check_wrapper(self, node, function):
        """functools.wraps(f), or with the names of attributes as literals: assigned=("__doc__",)."""
        most = 1 if function == "functools.wraps" else 2
        is_literal = len(node.args) <= most and not any(
            isinstance(arg, ast.Starred) for arg in node.args
        )
        for keyword in node.keywords:
            if keyword.arg is None or not isinstance(keyword.value, ast.Tuple):
                is_literal = False
                break
            texts = [_literal_text(keyword.value.elts, i) for i in range(len(keyword.value.elts))]
            is_literal = is_literal and None not in texts
            for name in texts:
                if name is not None:
                    self._check_attribute_name(node, None, name)
        if not is_literal:
            self._refuse_computed(node, function)

    def _check_setattr_method(self, node):
        """super().__setattr__(name, value) can only change the object itself; object.__setattr__(x, ...) is setattr."""
        receiver = node.func.value
        self._check_operand(receiver)
        if isinstance(receiver, ast.Call) and self._here(receiver.func).builtin == "super":
            return
        name = _literal_text(node.args, 1)
        if name is None:
            self._refuse_computed(node, node.func.attr)
        else:
            self._check_attribute_name(node, None, name)
