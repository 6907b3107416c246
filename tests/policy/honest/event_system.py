import weakref
from collections import defaultdict
from typing import Callable


class Event:
    def __init__(self, name, **data):
        self.name = name
        self.data = data

    def __getattr__(self, key):
        if key.startswith("_"):
            raise AttributeError(key)
        return self.data[key]


class Bus:
    def __init__(self):
        self._handlers: dict[str, list[Callable]] = defaultdict(list)
        self._log = []

    def on(self, name):
        def decorate(handler):
            self._handlers[name].append(handler)
            return handler

        return decorate

    def emit(self, event):
        self._log.append(event.name)
        for handler in self._handlers.get(event.name, ()):
            handler(event)


bus = Bus()
seen = []


@bus.on("paid")
def remember(event):
    seen.append((event.amount, getattr(event, "currency", "EUR")))


bus.emit(Event("paid", amount=10, currency="NOK"))
bus.emit(Event("shipped"))
reference = weakref.ref(bus)
print(seen, reference() is bus, hasattr(bus, "emit"), callable(bus.emit))
