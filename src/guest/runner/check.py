"""The strict policy on a tree (guest/policy/check.h): modules and attribute readers are never values, so
no alias can hide them; everything that cannot be known is refused, with a hint.

This file has statements and the walk; check_values.py has names and attributes, check_calls.py
calls, check_patterns.py class patterns."""

import ast

from caisson.runner import lists, names, tools, walk
from caisson.runner.check_calls import Calls
from caisson.runner.check_patterns import Patterns
from caisson.runner.modules import ALLOWED

_COPY_HINT = "define __copy__ or __deepcopy__"
_OTHER_NAME = "choose another name"
# Names that Python itself looks up; code must not bind them.
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


class Checker(Calls, Patterns):
    def check(self, tree):
        names.Declarer(self.names, self.modules).visit_stmts(tree.body)
        self.visit_stmts(tree.body)

    def open(self, kind, node):
        self.classes += kind == walk.CLASS
        self.names.open(kind, node)

    def close(self):
        self.classes -= self.names.current.kind == walk.CLASS
        self.names.close()

    # Names that are bound.

    def bind(self, name):
        if name in _UNBINDABLE:
            message = f"{name:.80} cannot be assigned"
            self.refuse("name", self.place, _UNBINDABLE[name], message)

    def _may_name_module(self, name):
        """A module may be bound to it, so that the check recognises it wherever it is used."""
        scope = self.names.current
        binding = scope.find(name)
        is_nonlocal = binding is not None and binding.is_nonlocal
        return scope.kind != walk.CLASS and not self.is_mangled(name) and not is_nonlocal

    # Imports.

    def _check_module_name(self, alias, name):
        if not self._may_name_module(name):
            self.refuse(
                "import",
                alias,
                "import it at the top of the code",
                f"{name:.80} is imported where it cannot be followed",
            )

    def _refuse_import(self, alias, module, verdict):
        top = module.partition(".")[0]
        if verdict is None and top in self.absent:
            return  # Already reported.
        otherwise = "use the modules that are allowed, or a tool of the host"
        hint = lists.import_hints.get(top, otherwise)
        self.refuse("import", alias, hint, f"the module {module:.80} is not allowed")

    def _check_below_os(self, alias, module):
        """Below os only the entries of the list of os attributes are allowed: `import os.path`."""
        if module.startswith("os.") and self.rules.os_attributes.get(module[3:]) is not ALLOWED:
            self.refuse("import", alias, "use pathlib", f"the module {module:.80} is not allowed")

    def _check_public(self, alias, module):
        """`import asyncio.__main__`: private modules of packages can run code, start processes and
        read anything."""
        if "._" in module:
            message = f"the module {module:.80} is private"
            self.refuse("import", alias, "use what the module offers publicly", message)

    def _check_Import(self, node):
        for alias in node.names:
            verdict = self.modules.verdict(alias.name)
            if verdict is ALLOWED:
                self._check_below_os(alias, alias.name)
            else:
                self._refuse_import(alias, alias.name, verdict)
            self._check_public(alias, alias.name)
            self._check_module_name(alias, alias.asname or alias.name)
            if alias.asname is not None:
                self.bind(alias.asname)
        return False

    def _check_ImportFrom(self, node):
        module = node.module
        if node.level or module is None:
            hint = "import a module of the standard library by its full name"
            self.refuse("import", node, hint, "relative imports are not allowed")
            return False
        verdict = self.modules.verdict(module)
        for alias in node.names:
            # `from urllib import parse`, where urllib.parse is allowed and urllib is not.
            is_listed = self.rules.imports.get(f"{module}.{alias.name}") is ALLOWED
            if verdict is not ALLOWED and not is_listed:
                self._refuse_import(alias, module, verdict)
                break
            self._check_below_os(alias, module)
            self._check_public(alias, module)
            self._check_from_one(alias, module)
        return False

    def _check_from_one(self, alias, module):
        if alias.name == "*":
            if not self.modules.star_is_plain(module):
                message = f"everything of {module:.80} is not allowed"
                self.refuse("import", alias, "import the names you need", message)
            return
        member = self.modules.member(module, alias.name)
        self.refuse_member(alias, module, alias.name, member)
        name = alias.asname or alias.name
        self.bind(name)
        self.check_unpickler(alias, module, alias.name)
        if member.kind in ("module", "special"):
            self._check_module_name(alias, name)

    # Statements.

    def stmt(self, node):
        if not self.is_allowed_kind(node):
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
            self.excused[0] = node.value
        for target in node.targets:
            self._check_match_args(target, node.value)
        return True

    def _check_AnnAssign(self, node):
        target = node.target
        is_name = isinstance(target, ast.Name)
        # A dataclass makes source text of its fields; one called `os` is read as x.os, which is
        # checked at run time.
        in_class = self.names.current.kind == walk.CLASS
        is_own = is_name and target.id in tools.OWN_ATTRIBUTES and target.id != "__dict__"
        if in_class and is_name and target.id != "__match_args__" and not is_own:
            self.check_attribute_name(target, None, target.id)
        if node.value is not None:
            if is_name and self._may_name_module(target.id):
                self.excused[0] = node.value
            self._check_match_args(target, node.value)
        return True

    def _check_match_args(self, target, value):
        """A class pattern reads the attributes that __match_args__ names."""
        if not isinstance(target, ast.Name) or target.id != "__match_args__":
            return
        self.done = target  # Bound in any other way it is refused.
        is_literal = isinstance(value, (ast.Tuple, ast.List))
        for item in value.elts if is_literal else ():
            is_text = isinstance(item, ast.Constant) and type(item.value) is str
            is_literal = is_literal and is_text
            if is_text:
                self.check_attribute_name(item, None, item.value)
        if not is_literal:
            hint = "write the names as literals"
            self.refuse("attribute", value, hint, "__match_args__ needs its names as literals")

    def _check_AugAssign(self, node):
        """`x.obj += y` passes the value to y.__radd__ and so bypasses the function that reads it
        elsewhere."""
        if isinstance(node.target, ast.Attribute) and not isinstance(node.value, (ast.Constant, ast.JoinedStr)):
            self.check_evaluator(node.target, node.target.attr)
        if isinstance(node.target, ast.Attribute) and node.target.attr in tools.OWN_ATTRIBUTES:
            message = f"the attribute {node.target.attr:.80} is not allowed here"
            self.refuse("attribute", node.target, "write it as an assignment: x.a = x.a + b", message)
        return True

    def _check_Global(self, node):
        for name in node.names:
            self.bind(name)
        return True

    def _excuse_test(self, node):
        self.excused[0] = node.test
        return True

    _check_If = _check_While = _check_Assert = _excuse_test

    # Expressions.

    def expr(self, node):
        if node is self.done:
            return False
        if not self.is_allowed_kind(node):
            return False
        check = getattr(self, "_check_" + walk.kind_of(node), None)
        return True if check is None else check(node)

    _check_IfExp = _excuse_test

    def _check_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.check_value(node)
        else:
            self.bind(node.id)
        return True

    def _check_Attribute(self, node):
        self.check_value(node)
        return False

    def _check_Compare(self, node):
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):  # `numpy is None`
            self.excused = [node.left, node.comparators[0]]
        return True

    def _check_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.excused[0] = node.operand
        return True

    def _check_Constant(self, node):
        """Some functions of the standard library evaluate the text of annotations."""
        text = node.value
        if self.annotations and type(text) is str and ("(" in text or "__" in text):
            self.refuse("annotation", node, "write the name of a type", "this annotation is code")
        return True

    # Patterns.

    def pattern(self, node):
        if not self.is_allowed_kind(node):
            return
        kind = walk.kind_of(node)
        if kind == "MatchValue":
            self._check_compared(node.value)
        elif kind == "MatchMapping":
            for key in node.keys:
                self._check_compared(key)
        elif kind == "MatchClass":
            self._check_compared(node.cls)
            self.check_class_pattern(node)

    def _check_compared(self, value):
        """`case x.obj:` would pass it to the __eq__ of the matched object."""
        while isinstance(value, ast.Attribute):
            self.check_evaluator(value, value.attr)
            if value.attr in tools.OWN_ATTRIBUTES:
                message = f"the attribute {value.attr:.80} is not allowed here"
                self.refuse("attribute", value, "compare with if, or with a variable of your own", message)
            value = value.value
