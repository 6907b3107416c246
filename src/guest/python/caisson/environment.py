"""os.environ with the variables from the holder."""

import os

_environ = os.environ
# Libraries written in C read these directly; without them they would start a thread per core and
# use memory for each.
_THREADS = {name: value for name, value in os.environ.items() if name.endswith("_NUM_THREADS")}


def replace(variables):
    """Replaces the whole environment by `variables`, in the object that code knows as os.environ."""
    os.environ = _environ
    _environ.clear()
    for name, value in _THREADS.items():
        os.putenv(name, value)  # Below os.environ.
    _environ.update(variables)
