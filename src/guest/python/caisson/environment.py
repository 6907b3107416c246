"""os.environ, as the holder gives it."""

import os

_environ = os.environ


def replace(variables):
    """Makes `variables` all that the environment has, in the object code knows as os.environ."""
    os.environ = _environ
    _environ.clear()
    _environ.update(variables)
