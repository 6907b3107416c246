"""Disables XML entity expansion: declaring an entity with a replacement text is an error.

The expat of the wasm engine does not support such entities. The system's expat has no switch for
that, so here the declaration already fails, with the same error: undefined entity."""

import sys

_PIECE = 4096


def _undefined_entity(parser):
    expat = sys.modules["pyexpat"]
    what = expat.errors.XML_ERROR_UNDEFINED_ENTITY
    line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber
    error = expat.ExpatError(f"{what}: line {line}, column {column}")
    error.code, error.lineno, error.offset = expat.errors.codes[what], line, column
    return error


class _Parser:
    """Replaces a parser of pyexpat, whose type cannot be subclassed."""

    def __init__(self, parser):
        vars(self).update(_parser=parser, _refusal=None)
        parser.EntityDeclHandler = self._declared

    def _declared(self, name, is_parameter, text, *elsewhere):
        if text is not None:  # An external one is never read.
            vars(self)["_refusal"] = error = _undefined_entity(self._parser)
            raise error

    def _still_parsing(self):
        if self._refusal is not None:
            raise self._refusal  # Otherwise the parser would continue with the next part.
        return self._parser

    def Parse(self, *arguments):
        return self._still_parsing().Parse(*arguments)

    def ParseFile(self, file):
        return self._still_parsing().ParseFile(file)

    def ExternalEntityParserCreate(self, *arguments):
        return _Parser(self._parser.ExternalEntityParserCreate(*arguments))

    def __getattr__(self, name):
        return getattr(self._parser, name)

    def __setattr__(self, name, value):
        if name != "EntityDeclHandler":
            setattr(self._parser, name, value)


class _Prolog:
    """Parses the same data as another parser until the first element: all declarations come before
    that."""

    def __init__(self, encoding):
        self._parser = sys.modules["pyexpat"].ParserCreate(encoding)
        self._parser.StartElementHandler = self._end
        self._is_over = False

    def _end(self, *element):
        self._is_over = True

    def read(self, data):
        # In pieces, because the parser reads all the data it is given.
        for at in range(0, len(data), _PIECE):
            if self._is_over:
                return
            try:
                self._parser.Parse(data[at : at + _PIECE])
            except sys.modules["pyexpat"].ExpatError as error:
                if error is self._parser._refusal:
                    raise
                self._end()  # Another error, which the other parser will report.


def guard_pyexpat():
    expat = sys.modules["pyexpat"]
    create = expat.ParserCreate

    def ParserCreate(*arguments, **named):
        return _Parser(create(*arguments, **named))

    expat.ParserCreate = ParserCreate


def guard_elementtree():
    """_elementtree does not expose its parsers, so a second one parses the same data."""
    module = sys.modules["_elementtree"]

    class XMLParser(module.XMLParser):
        __module__ = module.XMLParser.__module__
        __qualname__ = "XMLParser"

        def __init__(self, *, target=None, encoding=None):
            super().__init__(target=target, encoding=encoding)
            self._prolog = _Prolog(encoding)

        def feed(self, data):
            try:
                self._prolog.read(data)
            except sys.modules["pyexpat"].ExpatError as error:
                raised = module.ParseError(str(error))
                raised.code, raised.position = error.code, (error.lineno, error.offset)
                raise raised from None
            super().feed(data)

        def _parse_whole(self, file):
            while data := file.read(16 * _PIECE):
                self.feed(data)
            return self.close()

    module.XMLParser = XMLParser
