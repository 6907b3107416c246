"""A syntax tree as bytes (guest/native/foreign_tree.h). It knows no kind of node: the judge does."""

import struct
from _ast import AST, expr, stmt

_NONE, _NODE, _LIST = -1, -2, -3
_STATEMENT = ("lineno", "col_offset", "end_lineno", "end_col_offset")
_OTHER = ("lineno", "col_offset")


def _base(kind):
    return next((base.__name__ for base in (expr, stmt) if issubclass(kind, base)), "")


class Tree:
    def __init__(self, tree):
        self.nodes = []  # By number.
        self.names = {}  # Every str in the tree, and its index.
        self._texts = []
        self._shapes = {}  # Kind: index, positions, fields from the last to the first.
        self._numbers = []
        self._put(tree.body)

    def message(self):
        shapes = [
            (kind.__name__, _base(kind), len(positions), *reversed(fields))
            for kind, (_, positions, fields) in self._shapes.items()
        ]
        nodes = struct.pack(f"<{len(self._numbers)}i", *self._numbers)
        return {"shapes": shapes, "texts": self._texts, "nodes": nodes}

    def has(self, kind):
        return any(shape.__name__ == kind for shape in self._shapes)

    def _shape(self, node):
        kind = type(node)
        if kind not in self._shapes:
            positions = _STATEMENT if issubclass(kind, stmt) else _OTHER
            positions = positions if hasattr(node, "lineno") else ()
            self._shapes[kind] = len(self._shapes), positions, node._fields[::-1]
        return self._shapes[kind]

    def _put(self, value):
        put, todo = self._numbers.append, [value]
        while todo:
            value = todo.pop()
            if value is None:
                put(_NONE)
            elif isinstance(value, AST):
                index, positions, fields = self._shape(value)
                self.nodes.append(value)
                put(_NODE)
                put(index)
                for position in positions:
                    put(getattr(value, position))
                for field in fields:
                    todo.append(getattr(value, field, None))
            elif isinstance(value, list):
                put(_LIST)
                put(len(value))
                todo += value[::-1]
            else:
                put(self._text(value))

    def _text(self, value):
        if type(value) is str:
            if value not in self.names:
                self.names[value] = len(self._texts)
                self._texts.append(_encodable(value))
            return self.names[value]
        self._texts.append(_encodable(value))
        return len(self._texts) - 1


def _encodable(value):
    if value is ...:
        return (2,)
    if type(value) is complex:
        return 1, value.real, value.imag
    if type(value) is str and any("\ud800" <= character <= "\udfff" for character in value):
        return 0, value.encode("utf-8", "surrogatepass")
    return value
