"""Starts the guest logic in an interpreter that was started for it: `python -I -S -c THIS STEP
SYS_PATH`.

`compile`: its text is on descriptor 4; the code is written to descriptor 5, and the size of this
process's address space, read from descriptor 6, to stdout. `run`: the code is on descriptor 4, and
a cell's socket on descriptor 3."""

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec


class Finder:
    """Finds and loads the guest logic, which is in no file."""

    def __init__(self, modules):
        self._modules = modules

    def find_spec(self, name, path=None, target=None):
        if name not in self._modules:
            return None
        return ModuleSpec(name, self, origin="caisson", is_package=self._modules[name][0])

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self._modules[module.__name__][1], module.__dict__)


def received():
    return marshal.loads(os.pread(4, os.fstat(4).st_size, 0))


def compiled(sources):
    return {
        name: (is_package, compile(text, f"<frozen {name}>", "exec", dont_inherit=True))
        for name, (is_package, text) in sources.items()
    }


def start(modules):
    sys.path[:] = sys.argv[2].split(":")
    sys.meta_path.insert(0, Finder(modules))
    from caisson.runner import cell

    return cell


if sys.argv[1] == "compile":
    modules = compiled(received())
    with open(5, "wb") as out:
        marshal.dump(modules, out)
    start(modules)
    os.write(1, os.read(6, 100).split()[0])
else:
    modules = received()
    os.close(4)
    start(modules).serve(3)
