"""Checks calls of tools against their descriptions (guest/policy/check_tools.h)."""

import ast
import builtins
import math

from caisson.runner import tools, walk
from caisson.runner.values import decode

_REQUIRED = 0


def _literal_type(node):
    """Returns the JSON name of the type of a literal, or None if it is not a literal or JSON has no
    such type."""
    if isinstance(node, ast.Constant):
        value = node.value
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "boolean"
        if isinstance(value, int):
            return "integer"
        if isinstance(value, float):
            is_whole = math.isinf(value) or math.floor(value) == value
            return "integer" if is_whole else "number"
        return "string" if isinstance(value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "string"
    if isinstance(node, (ast.List, ast.ListComp, ast.Tuple)):
        return "array"
    return "object" if isinstance(node, (ast.Dict, ast.DictComp)) else None


def _accepts(types, kind):
    return not types or kind in types or (kind == "integer" and "number" in types)


_JSON_NAMES = {
    "str": ("string",),
    "int": ("integer",),
    "float": ("number", "integer"),
    "bool": ("boolean",),
    "list": ("array",),
    "dict": ("object",),
}


def _is_choice(choice, value):
    """Equal numbers are the same to JSON; a bool is not a number there."""
    if not isinstance(choice, ast.Constant) or isinstance(value, ast.JoinedStr):
        return True
    if not isinstance(value, ast.Constant):
        return False
    one, other = choice.value, value.value
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _fits(annotation, value):
    """Returns False if a literal, or something inside it, certainly does not fit an annotation."""
    literal = _literal_type(value)
    if literal is None:
        return True
    if isinstance(annotation, ast.BinOp):
        return _fits(annotation.left, value) or _fits(annotation.right, value)
    if isinstance(annotation, ast.Constant):
        return annotation.value is not None or literal == "null"
    if isinstance(annotation, ast.Name):
        return literal in _JSON_NAMES.get(annotation.id, (literal,))
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.value, ast.Name):
        return True
    inner = annotation.slice
    if annotation.value.id == "Literal":
        choices = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return any(_is_choice(choice, value) for choice in choices)
    if not _fits(annotation.value, value):
        return False
    if isinstance(value, (ast.List, ast.Tuple)):
        return all(_fits(inner, item) for item in value.elts)
    is_dict = isinstance(value, ast.Dict) and isinstance(inner, ast.Tuple) and len(inner.elts) == 2
    # `**more` in a dict has no key, and is itself a dict of this kind.
    return not is_dict or all(
        _fits(annotation if key is None else inner.elts[1], item)
        for key, item in zip(value.keys, value.values)
    )


def _fits_annotation(text, value):
    """An annotation that cannot be parsed fits everything."""
    try:
        return "[" not in text or _fits(ast.parse(text, mode="eval").body, value)
    except SyntaxError:
        return True


def _parameter_text(name, annotation, presence, default):
    shown = f"{name}: {annotation:.80}"
    return (shown, f"{shown} = {default!r:.40}", f"{shown} = ...")[presence]


def signature(tool):
    is_function = tools.is_function_name(tool["name"])
    parts, by_name = [], not is_function
    for name, annotation, presence, default, _, keyword_only in tool["parameters"]:
        if keyword_only and not by_name:
            parts.append("*")
        by_name = by_name or keyword_only
        shown = f"{name:.60}" if is_function else f'"{name:.60}"'
        parts.append(_parameter_text(shown, annotation, presence, default))
    if tool.get("more"):
        parts.append("**more")
    listed = ", ".join(parts)[:600]
    name = tool["name"][:80]
    text = f"{name}({listed})" if is_function else f'call_tool("{name}", {{{listed}}})'
    return text if tool.get("returns") is None else f"{text} -> {tool['returns']:.80}"


class _Bound(walk.Walk):
    """A name that the code binds anywhere may not mean the tool where it is called."""

    def __init__(self):
        self.names = set()

    def bind(self, name):
        self.names.add(name)

    def expr(self, node):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.bind(node.id)
        return True


class _Call:
    """One call: its arguments, as far as the text shows."""

    def __init__(self, tool, node, findings):
        self._tool = tool
        self._node = node
        self._findings = findings
        self._parameters = {fields[0]: fields for fields in tool["parameters"]}
        self._given = set()
        self._is_unknown = False  # There are *args or **kwargs, or a dict that is not a literal.

    def check(self, through_call_tool):
        args = self._node.args
        if not through_call_tool:
            self._give_by_place(args)
        elif len(args) > 1:
            self._give_dict(args[1])
        for keyword in self._node.keywords:
            if keyword.arg is None:
                self._is_unknown = True
            else:
                self._give_by_name(keyword.arg, keyword.value)
        for name, fields in self._parameters.items():
            if not self._is_unknown and fields[2] == _REQUIRED and name not in self._given:
                self._refuse(self._node, f"needs the argument {name:.80}")

    def _refuse(self, node, what):
        hint = f"call it as {signature(self._tool)}"
        joint = "" if what.startswith(":") else " "
        self._findings.add("tool", node, hint, f"{self._tool['name']:.80}(){joint}{what}")

    def _give(self, name, value):
        if name in self._given:
            self._refuse(value, f"gets {name:.80} twice")
            return
        self._given.add(name)
        kind = _literal_type(value)
        _, annotation, _, _, types, _ = self._parameters[name]
        if kind is not None and not (_accepts(types, kind) and _fits_annotation(annotation, value)):
            self._refuse(value, f": {name:.80} has a value of the wrong type")

    def _give_by_name(self, name, value):
        if name in self._parameters:
            self._give(name, value)
        elif not self._tool.get("more"):
            self._refuse(value, f"has no argument {name:.80}")

    def _give_by_place(self, args):
        parameters = self._tool["parameters"]
        for i, arg in enumerate(args):
            if isinstance(arg, ast.Starred):
                self._is_unknown = True
                return
            if i >= len(parameters) or parameters[i][5]:
                self._refuse(arg, "has too many arguments without a name")
                return
            self._give(parameters[i][0], arg)

    def _give_dict(self, node):
        if not isinstance(node, ast.Dict):
            self._is_unknown = True
            return
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant) and type(key.value) is str:
                self._give_by_name(key.value, value)
            else:
                self._is_unknown = True


class _Calls(walk.Walk):
    def __init__(self, described, bound, findings):
        self._described = described  # {name: description, encoded until it is needed}
        self._bound = bound
        self._findings = findings

    def expr(self, node):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return True
        name = node.func.id
        if name in self._bound:
            return True
        through_call_tool = name == "call_tool"
        if through_call_tool:
            first = node.args[0] if node.args else None
            name = first.value if isinstance(first, ast.Constant) else None
        if type(name) is str and (through_call_tool or not hasattr(builtins, name)):
            tool = self._description(name)
            if tool is not None:
                _Call(tool, node, self._findings).check(through_call_tool)
        return True

    def _description(self, name):
        known = self._described.get(name)
        if isinstance(known, bytes):
            known = self._described[name] = decode(known)
        return known


def check(tree, entries, findings):
    described = {tools.name_of(entry): tools.encoded_of(entry) for entry in entries}
    bound = _Bound()
    try:
        bound.visit_stmts(tree.body)
        _Calls(described, bound.names, findings).visit_stmts(tree.body)
    except walk.Unknown:
        # Under the strict policy the check refuses it; otherwise the host checks every call anyway.
        pass
