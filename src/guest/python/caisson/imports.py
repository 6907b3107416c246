"""Which modules the interpreter has, without importing any."""


def is_missing(name):
    from importlib.util import find_spec  # Not before it is needed: it brings others along.

    try:
        return find_spec(name) is None
    except (ImportError, ValueError):
        return True
