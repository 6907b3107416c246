"""The findings in the code, for its author."""

_MAX_FINDINGS = 50


class Findings:
    def __init__(self):
        self._items = []  # (line, offset in bytes, rule, message, hint)
        self._more = 0

    def __bool__(self):
        return bool(self._items)

    def add(self, rule, node, hint, message):
        self.add_at(rule, node.lineno, node.col_offset, hint, message)

    def add_at(self, rule, line, offset, hint, message):
        if len(self._items) == _MAX_FINDINGS:
            self._more += 1
        else:
            self._items.append((line, offset, rule, message, hint))

    def listed(self, source):
        """Returns them in the order of the source; columns in characters, from 1."""
        lines = source.replace("\r\n", "\n").replace("\r", "\n").encode().split(b"\n")

        def shown(line, offset, rule, message, hint):
            text = lines[line - 1] if 0 < line <= len(lines) else b""
            column = len(text[:offset].decode("utf-8", "ignore")) + 1
            return dict(rule=rule, message=message, line=line, column=column, hint=hint)

        items = sorted(self._items, key=lambda item: item[:2])
        if self._more:
            message = f"{self._more} more findings are not shown"
            items.append((*items[-1][:2], "more", message, "correct these first"))
        return [shown(*item) for item in items]
