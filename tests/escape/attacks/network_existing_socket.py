# harm: the one socket a cell has is turned into another: connected, bound, listening, its peer asked for
# engines: native
# expect: completed
# never: done
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
inet = struct.pack("<H", 2) + struct.pack(">H", PORT) + bytes([127, 0, 0, 1]) + b"\0" * 8
abstract = struct.pack("<H", 1) + b"\0abstract"
AF_UNSPEC = struct.pack("<H", 0)
size = ctypes.c_uint32(64)
room = ctypes.create_string_buffer(64)
for fd in (0, 1, 2, 3):
    for number, arguments in ((42, (inet, 16)), (42, (abstract, 11)), (42, (AF_UNSPEC, 2)), (49, (inet, 16)), (49, (abstract, 11)), (50, (5,)), (43, (None, None)), (288, (None, None, 0)),
                              (48, (0,)), (51, (room, ctypes.byref(size))), (52, (room, ctypes.byref(size))), (54, (1, 2, b"\1\0\0\0", 4)), (55, (1, 17, room, ctypes.byref(size))),
                              (44, (b"x", 1, 0, inet, 16)), (45, (room, 1, 0x40, None, None))):
        if libc.syscall(number, fd, *arguments) != -1:
            print("done", fd, number)
