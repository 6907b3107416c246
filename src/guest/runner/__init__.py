"""The guest logic in Python, for interpreters that are started rather than linked (CPython 3.9 to
3.14).

It behaves like the C code of src/guest; that code is the reference wherever the two could differ.
`cell` is the life of a process, `run` that of a run; `bridge` is the socket, and the module
`_caisson`."""
