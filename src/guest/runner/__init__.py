"""The guest logic in Python, for interpreters that are started rather than linked (CPython 3.9 to 3.14).

Says and does what the C of src/guest says and does; where the two could differ, that is what is meant. `cell` is the
life of a process, `run` that of a run; `bridge` is the socket, and the module `_caisson`.
"""
