"""Which modules the interpreter has, without importing any."""

from importlib.util import find_spec


def is_missing(name):
    try:
        return find_spec(name) is None
    except (ImportError, ValueError):
        return True
