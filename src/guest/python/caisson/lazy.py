"""Loads or patches things when code first imports a module.

The event loop (asyncio is larger than the rest of Python together), what numpy computes with, what
parses XML, what asks the kernel for more than it gives, and what would expose Python's own objects.
"""

import sys

from caisson import blas, entities, own, without


class _FirstImports:
    """Finds and loads the modules that `then` names, and calls its functions after each import."""

    def __init__(self, then):
        self._then = then
        self._loaders = {}

    def find_spec(self, name, path=None, target=None):
        # A query is not an import: code that looks for missing modules also asks.
        if name not in self._then:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, others), None)
        if spec is not None:
            self._loaders[name] = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec):
        return self._loaders[spec.name].create_module(spec)

    def exec_module(self, module):
        name = module.__name__
        module.__loader__ = module.__spec__.loader = loader = self._loaders[name]
        loader.exec_module(module)
        self.forget(name)()

    def forget(self, name):
        return self._then.pop(name, lambda: None)

    def install(self):
        sys.meta_path.insert(0, self)
        for name in self._then.keys() & sys.modules.keys():
            self.forget(name)()


def _loop():
    """caisson.loop, with its event loop as asyncio's."""
    _imports.forget("asyncio")
    loop = sys.modules.get("caisson.loop")
    if loop is None:
        import caisson.loop as loop

        loop.install(may_have_threads=True)
    return loop


_imports = _FirstImports({
    "asyncio": _loop,
    "numpy": blas.settle,
    "pyexpat": entities.guard_pyexpat,
    "_elementtree": entities.guard_elementtree,
    "subprocess": without.explain_programs,
    "socket": without.explain_sockets,
    "multiprocessing.synchronize": without.explain_semaphores,
    **own.GUARDS,
    **own.PACKAGE_GUARDS,
})


def run(coroutine):
    return _loop().run(coroutine)


def tool_call(name, args, kwargs):
    return _loop().tool_call(name, args, kwargs)


def conclude():
    loop = sys.modules.get("caisson.loop")
    if loop is not None:
        loop.conclude()


def install():
    _imports.install()
