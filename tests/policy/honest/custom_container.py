from __future__ import annotations

from collections import OrderedDict, UserDict
from collections.abc import Iterator, MutableMapping


class LRU(MutableMapping):
    def __init__(self, size: int) -> None:
        self._size = size
        self._data: OrderedDict[str, int] = OrderedDict()

    def __getitem__(self, key):
        return self._data[key]

    def touch(self, key):
        self._data.move_to_end(key)

    def __setitem__(self, key, value):
        self._data[key] = value
        self._data.move_to_end(key)
        if len(self._data) > self._size:
            self._data.popitem(last=False)

    def __delitem__(self, key):
        del self._data[key]

    def __iter__(self) -> Iterator:
        return iter(self._data)

    def __len__(self):
        return len(self._data)

    def __contains__(self, key) -> bool:
        return key in self._data

    def __repr__(self):
        return f"{self.__class__.__name__}({dict(self._data)})"


class Upper(UserDict):
    def __setitem__(self, key, value):
        super().__setitem__(key.upper(), value)


cache = LRU(2)
cache["a"], cache["b"] = 1, 2
cache.touch("a")
cache["c"] = 3
print(cache, "b" in cache, cache.get("b", "gone"), len(cache), cache == {"a": 1, "c": 3})
print(Upper(a=1), cache.pop("a"), list(cache.items()))
