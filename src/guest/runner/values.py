"""Values as bytes, as wire/value.h has them."""

import struct
from math import isfinite

MAX_DEPTH = 200
MAX_JSON_DIGITS = 4300
MAX_JSON_INT_BITS = 14285  # Of 10**4300.

_NONE, _FALSE, _TRUE, _INT, _BIG_INT, _FLOAT, _STR, _BYTES, _LIST, _TUPLE, _DICT = range(11)


class Unsupported(Exception):
    """A value that cannot be sent: `culprit`."""

    def __init__(self, culprit):
        super().__init__()
        self.culprit = culprit


class TooDeep(Exception):
    pass


class TooBig(Exception):
    pass


class Encoder:
    """Appends values to `out`, of which `is_json` lets through only what JSON can hold."""

    def __init__(self, is_json=False, limit=None):
        self.out = bytearray()
        self._is_json = is_json
        self._limit = limit

    def put(self, value, depth=0):
        out = self.out
        if value is None:
            out.append(_NONE)
        elif value is False:
            out.append(_FALSE)
        elif value is True:
            out.append(_TRUE)
        elif isinstance(value, int):
            self._put_int(value)
        elif isinstance(value, str):
            self._put_str(value)
        elif isinstance(value, float):
            self._put_float(value)
        elif depth >= MAX_DEPTH:
            raise TooDeep
        elif isinstance(value, dict):
            self._put_dict(value, depth)
        elif isinstance(value, list):
            self._put_items(_LIST, list.__iter__(value), list.__len__(value), depth)
        elif isinstance(value, tuple):
            self._put_items(_TUPLE, tuple.__iter__(value), tuple.__len__(value), depth)
        elif isinstance(value, (bytes, bytearray)) and not self._is_json:
            data = bytes(memoryview(value))
            self.head(_BYTES, len(data))
            out += data
        else:
            raise Unsupported(value)
        if self._limit is not None and len(out) > self._limit:
            raise TooBig

    def head(self, tag, count):
        out = self.out
        # Whatever is counted takes a byte each: what cannot fit is not even begun.
        if self._limit is not None and tag > _FLOAT and len(out) + count > self._limit:
            raise TooBig
        out.append(tag)
        while count >= 0x80:
            out.append(count & 0x7F | 0x80)
            count >>= 7
        out.append(count)

    def _put_int(self, value):
        bits = int.bit_length(value)
        if bits < 64 and -(1 << 63) <= value < 1 << 63:
            number = int.__index__(value)
            self.head(_INT, number << 1 if number >= 0 else ~(number << 1))
            return
        size = bits // 8 + 1  # One bit more than the magnitude, for the sign.
        if self._is_json and self._has_too_many_digits(value, bits):
            raise Unsupported(value)
        self.head(_BIG_INT, size)
        self.out += int.to_bytes(value, size, "little", signed=True)

    @staticmethod
    def _has_too_many_digits(value, bits):
        if bits != MAX_JSON_INT_BITS:
            return bits > MAX_JSON_INT_BITS
        return int.__abs__(value) >= 10**MAX_JSON_DIGITS

    def _put_str(self, value):
        try:
            data = str.encode(value, "utf-8")
        except UnicodeEncodeError:
            raise Unsupported(value) from None
        self.head(_STR, len(data))
        self.out += data

    def _put_float(self, value):
        if self._is_json and not isfinite(value):
            raise Unsupported(value)
        self.out.append(_FLOAT)
        self.out += struct.pack("<d", value)

    def _put_items(self, tag, items, count, depth):
        self.head(tag, count)
        for item in items:
            self.put(item, depth + 1)

    def _put_dict(self, value, depth):
        self.head(_DICT, dict.__len__(value))
        for key, item in dict.items(value):
            if self._is_json and not isinstance(key, str):
                raise Unsupported(key)
            self.put(key, depth + 1)
            self.put(item, depth + 1)


def encode(value, limit=None):
    encoder = Encoder(limit=limit)
    encoder.put(value)
    return bytes(encoder.out)


class _Decoder:
    """The host is believed: what is malformed raises whatever it raises."""

    def __init__(self, data):
        self._data = data
        self._at = 0

    def take(self):
        tag = self._data[self._at]
        self._at += 1
        return self._READERS[tag](self)

    def _count(self):
        result = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7

    def _blob(self):
        size = self._count()
        data = bytes(self._data[self._at : self._at + size])
        if len(data) != size:
            raise ValueError("malformed message from the host")
        self._at += size
        return data

    def _int(self):
        zigzag = self._count()
        return zigzag >> 1 ^ -(zigzag & 1)

    def _float(self):
        (value,) = struct.unpack_from("<d", self._data, self._at)
        self._at += 8
        return value

    def _list(self):
        return [self.take() for _ in range(self._count())]

    _READERS = (
        lambda self: None,
        lambda self: False,
        lambda self: True,
        _int,
        lambda self: int.from_bytes(self._blob(), "little", signed=True),
        _float,
        lambda self: self._blob().decode(),
        _blob,
        _list,
        lambda self: tuple(self._list()),
        lambda self: {self.take(): self.take() for _ in range(self._count())},
    )


def decode(data):
    return _Decoder(data).take()
