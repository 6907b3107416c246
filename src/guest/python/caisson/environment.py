"""os.environ, as the holder gives it."""

import os

_environ = os.environ
# Libraries written in C read these for themselves, and would start a thread per core and take memory for each.
_THREADS = {name: value for name, value in os.environ.items() if name.endswith("_NUM_THREADS")}


def replace(variables):
    """Makes `variables` all that the environment has, in the object code knows as os.environ."""
    os.environ = _environ
    _environ.clear()
    for name, value in _THREADS.items():
        os.putenv(name, value)  # Beneath os.environ.
    _environ.update(variables)
