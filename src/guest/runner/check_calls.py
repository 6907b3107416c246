"""Calls under the strict policy: those that read attributes by name, and the texts that str.format
fills in."""

import ast

from caisson.runner import names, walk
from caisson.runner.check_packages import Packages
from caisson.runner.check_values import BY_NAME, FORMATS, Possible


def _literal_text(args, index):
    """Returns the str literal in that argument, or None."""
    if index >= len(args) or any(isinstance(arg, ast.Starred) for arg in args[: index + 1]):
        return None
    arg = args[index]
    text = arg.value if isinstance(arg, ast.Constant) else None
    return text if type(text) is str and text else None


class Calls(Packages):
    # Templates: str.format reads attributes too.

    def _check_fields(self, place, text):
        """Every brace may open a field, also "{{", so that the rules of the format language need
        not be known."""
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
            self.check_attribute_name(place, None, text[start:at])

    def _only_binding(self, name):
        """Returns the binding that `name` has in the current scope, if it can have no other."""
        at = None if name in self.names.nonlocals else self.names.current
        while at is not None:
            binding = at.find(name)
            if binding is not None:
                if at.kind == walk.CLASS:
                    return None
                return self.names.module.find(name) if binding.is_global else binding
            at = at.parent
        return None

    def _refuse_template(self, place):
        hint = "use an f-string, or call format on the string literal itself"
        message = "it cannot be told which attributes this text makes format() read"
        self.refuse("format", place, hint, message)

    def check_template(self, place, text):
        if isinstance(text, ast.IfExp):
            self.check_template(place, text.body)
            self.check_template(place, text.orelse)
            return
        joined = names.joined_text(text)
        if joined is not None:
            self._check_fields(place, joined)
        if joined is not None or isinstance(text, ast.Constant):
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
            self.done = function
            return True
        if method in FORMATS:
            self.formatting = function
            self._check_format_call(node)
        self.called = function
        callee = self.check_operand(function)
        self.check_package_call(node)
        self.done = function
        if callee.is_too_much:
            hint = "use the module by one name"
            self.refuse("module", node, hint, "it cannot be told what is called here")
            return True
        for kind, name in callee.things:
            if kind == names.SPECIAL:
                self._specials[name.partition(".")[0]](self, node, name)
        if callee.builtin in BY_NAME:
            self._check_named_access(node, callee.builtin)
        elif callee.builtin == "type":
            is_one = len(node.args) == 1 and not isinstance(node.args[0], ast.Starred)
            if not is_one or node.keywords:
                message = "type with more than one argument is not allowed"
                self.refuse("builtin", node, "write a class statement", message)
        return True

    def _check_format_call(self, node):
        """`text.format(...)`, `str.format(text, ...)`; without arguments there is nothing to read from."""
        if not node.args and not node.keywords:
            return
        text = node.func.value
        if self.here(text).builtin == "str" and node.args:
            text = node.args[0]
        self.check_template(node.func, text)

    def _refuse_computed(self, node, function):
        hint = "write the attribute's name as a literal; for names that vary, use a dict"
        self.refuse("attribute", node, hint, f"{function:.80} needs the attribute's name as a literal")

    def _check_named_access(self, node, function):
        """getattr(x, "name") and similar functions."""
        name = None if node.keywords else _literal_text(node.args, 1)
        if name is None:
            self._refuse_computed(node, function)
            return
        receiver = node.args[0]
        if name in FORMATS:
            self.check_template(node, receiver)
            return
        if name == "__dict__":
            self.check_attribute_name(node, None, name)  # Only x.__dict__ is checked at run time.
            return
        if function == "getattr":
            self.check_evaluator(node, name)
            self.check_uncalled(node, receiver, name)
        owner, result = self.here(receiver), Possible()
        self.check_members(node, receiver, owner, name, result)
        self.excused[0] = receiver
        is_change = function in ("setattr", "delattr")
        is_read = function == "getattr"
        if (is_change and owner.things) or (is_read and result.things) or owner.is_too_much:
            message = f"{function:.80} is used on a module"
            self.refuse("module", node, "write it with a dot", message)

    def _check_getter(self, node, function):
        """operator.attrgetter("a.b", "c"), operator.methodcaller("name", ...)."""
        count = 1 if function == "operator.methodcaller" else len(node.args)
        texts = [_literal_text(node.args, i) for i in range(count)]
        if not texts or None in texts:
            self._refuse_computed(node, function)
            return
        for name in ".".join(texts).split("."):
            if name in FORMATS:
                self._refuse_template(node)
            elif name:
                self.check_attribute_name(node, None, name)
                self.check_evaluator(node, name)

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
                    self.check_attribute_name(node, None, name)
        if not is_literal:
            self._refuse_computed(node, function)

    def _check_setattr_method(self, node):
        """super().__setattr__(name, value) can only change the object itself; object.__setattr__(x, ...) is setattr, and so is
        super(A, x).__setattr__(...)."""
        receiver = node.func.value
        self.check_operand(receiver)
        if isinstance(receiver, ast.Call) and self.here(receiver.func).builtin == "super":
            if receiver.args:
                message = f"{node.func.attr:.80} of super() with arguments is not allowed"
                self.refuse("attribute", node, "write super() without arguments", message)
            return
        name = _literal_text(node.args, 1)
        if name is None:
            self._refuse_computed(node, node.func.attr)
        else:
            self.check_attribute_name(node, None, name)

    def _check_maker(self, node, function):
        """xml.sax.make_parser(names) imports modules by these names."""
        if node.args or node.keywords:
            message = f"{function:.80} imports modules by the names it is given"
            self.refuse("attribute", node, "call it without arguments", message)

    _specials = {"functools": _check_wrapper, "operator": _check_getter, "xml": _check_maker}
