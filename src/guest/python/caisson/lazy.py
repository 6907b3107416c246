"""The event loop, brought in when code first wants it: asyncio is more than the rest of Python together."""

import sys
from importlib.machinery import PathFinder


class _Asyncio:
    """Finds and loads `asyncio`, and puts the event loop in place."""

    def find_spec(self, name, path=None, target=None):
        # Being asked is not being wanted: whoever looks for missing modules asks too.
        if name != "asyncio":
            return None
        spec = PathFinder.find_spec(name)
        self._loader = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _loop()


_finder = _Asyncio()


def _loop():
    """caisson.loop, with its event loop as asyncio's."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    loop = sys.modules.get("caisson.loop")
    if loop is None:
        import caisson.loop as loop

        loop.install(may_have_threads=True)
    return loop


def run(coroutine):
    return _loop().run(coroutine)


def tool_call(name, args, kwargs):
    return _loop().tool_call(name, args, kwargs)


def install():
    if "asyncio" in sys.modules:
        _loop()
    else:
        sys.meta_path.insert(0, _finder)
