"""What we change in CPython's C sources, piece by piece, and why.

  adapt_sources.py SOURCE DESTINATION

Objects of the snapshot live for ever: their reference counts stay as they are. Otherwise every run would write to
whatever it looks at, and each page that is written to must be copied back before the next run (docs/adr/0014). A count
that reaches FOREVER is never changed again; CPython's static objects begin beyond it.

A pool, in which the allocator keeps objects of one size, takes a quarter of a page: a small run uses dozens of sizes, and
would write to a page for each. Two of the largest must fit into one beside its head.

The streams can be asked whether they hold anything back, so that a run which printed nothing need not flush them.

WASI knows no permissions: files have 0644 and directories 0755, so that an archive of them can be read. And its C library takes
"now" for the beginning of time: os.utime says what time it is.

And expat expands no entity that a document declares, general or of parameters, in text, attributes or declarations:
a reference to one is the error of an undefined entity. What is predefined (&lt;) and characters by number are as ever.
"""

import os
import pathlib
import shutil
import sys

FOREVER = "(1 << 28)"  # References that so many words would take do not fit into a cell

CHANGES = [
    ("Include/object.h", "    op->ob_refcnt++;\n",
     f"    if (op->ob_refcnt < {FOREVER}) op->ob_refcnt++;\n"),
    ("Include/object.h", "    if (--op->ob_refcnt == 0) {\n        _Py_Dealloc(op);",
     f"    if (op->ob_refcnt < {FOREVER} && --op->ob_refcnt == 0) {{\n        _Py_Dealloc(op);"),
    ("Include/internal/pycore_object.h", "    if (--op->ob_refcnt != 0) {\n",
     f"    if (op->ob_refcnt >= {FOREVER} || --op->ob_refcnt != 0) {{\n"),
    ("Include/internal/pycore_object.h", "    op->ob_refcnt--;\n",
     f"    if (op->ob_refcnt < {FOREVER}) op->ob_refcnt--;\n"),
    ("Python/ceval.c", "        if (--op->ob_refcnt == 0) { \\\n            destructor dealloc =",
     f"        if (op->ob_refcnt < {FOREVER} && --op->ob_refcnt == 0) {{ \\\n            destructor dealloc ="),
    ("Python/ceval.c", "        if (--op->ob_refcnt == 0) { \\\n            destructor d =",
     f"        if (op->ob_refcnt < {FOREVER} && --op->ob_refcnt == 0) {{ \\\n            destructor d ="),
    ("Objects/obmalloc.c", "#define POOL_BITS               12                  /* 4 KiB */\n",
     "#define POOL_BITS               10                  /* 1 KiB */\n"),
    ("Objects/obmalloc.c", "#define SMALL_REQUEST_THRESHOLD 512\n", "#define SMALL_REQUEST_THRESHOLD 496\n"),
    ("Modules/_io/bufferedio.c", "#define ADJUST_POSITION(self, _new_pos) \\\n", """\
int
_caisson_buffered_is_idle(PyObject *writer)
{
    return Py_IS_TYPE(writer, &PyBufferedWriter_Type) && ((buffered *)writer)->write_end == -1;
}

#define ADJUST_POSITION(self, _new_pos) \\
"""),
    ("Modules/_io/textio.c", "static void\ntextiowrapper_set_decoded_chars(textio *self, PyObject *chars);\n", """\
int _caisson_buffered_is_idle(PyObject *writer);

int
_caisson_text_is_idle(PyObject *stream)
{
    textio *self = (textio *)stream;
    return Py_IS_TYPE(stream, &PyTextIOWrapper_Type) && self->ok && !self->detached &&
           self->pending_bytes == NULL && _caisson_buffered_is_idle(self->buffer);
}

static void
textiowrapper_set_decoded_chars(textio *self, PyObject *chars);
"""),
    ("Modules/posixmodule.c", "    PyStructSequence_SET_ITEM(v, 0, PyLong_FromLong((long)st->st_mode));\n", """\
    long mode = (long)st->st_mode | (S_ISDIR(st->st_mode) ? 0755 : 0644);
    PyStructSequence_SET_ITEM(v, 0, PyLong_FromLong(mode));
"""),
    ("Modules/posixmodule.c", "        utime.now = 1;\n", """\
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        utime.atime_s = utime.mtime_s = now.tv_sec;
        utime.atime_ns = utime.mtime_ns = now.tv_nsec;
"""),
    ("Modules/expat/xmlparse.c", "  OPEN_INTERNAL_ENTITY *openEntity;\n\n  if (parser->m_freeInternalEntities) {\n",
     "  OPEN_INTERNAL_ENTITY *openEntity;\n\n  return XML_ERROR_UNDEFINED_ENTITY;\n"
     "  if (parser->m_freeInternalEntities) {\n"),
    ("Modules/expat/xmlparse.c", "        result = appendAttributeValue(parser, parser->m_internalEncoding,\n",
     "        return XML_ERROR_UNDEFINED_ENTITY;\n"
     "        result = appendAttributeValue(parser, parser->m_internalEncoding,\n"),
    ("Modules/expat/xmlparse.c", "          result = storeEntityValue(\n",
     "          return XML_ERROR_UNDEFINED_ENTITY;\n          result = storeEntityValue(\n"),
]


def change(path, old, new):
    text = path.read_text()
    if text.count(old) != 1:
        sys.exit(f"{path}: what is to be changed is not there exactly once: {old.strip()!r}")
    path.unlink()  # A link to the original
    path.write_text(text.replace(old, new))


def main():
    source, destination = map(pathlib.Path, sys.argv[1:])
    shutil.copytree(source, destination, copy_function=os.link, symlinks=True)
    for name, old, new in CHANGES:
        change(destination / name, old, new)


if __name__ == "__main__":
    main()
