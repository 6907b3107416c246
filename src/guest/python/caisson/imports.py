"""Finds out which modules the interpreter has, without importing any."""


def is_missing(name):
    from importlib.util import find_spec  # Imported late: it imports other modules.

    try:
        return find_spec(name) is None
    except (ImportError, ValueError):
        return True
