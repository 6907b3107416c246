"""The event loop, brought in when code first wants it: asyncio is more than the rest of Python together."""

import importlib.machinery
import sys


def _loop():
    """caisson.loop, with its event loop as asyncio's."""
    loop = sys.modules.get("caisson.loop")
    if loop is None:
        import caisson.loop as loop

        loop.install(may_have_threads=True)
    return loop


def run(coroutine):
    return _loop().run(coroutine)


def tool_call(name, args, kwargs):
    return _loop().tool_call(name, args, kwargs)


class _Asyncio:
    """Finds and loads `asyncio`, with the event loop in place."""

    def find_spec(self, name, path=None, target=None):
        if name != "asyncio":
            return None
        sys.meta_path.remove(self)
        _loop()
        self._module = sys.modules[name]
        self._spec = self._module.__spec__
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec


def install():
    if "asyncio" in sys.modules:
        _loop()
    else:
        sys.meta_path.insert(0, _Asyncio())
