# harm: names that no text can hold break the capture or the outcome
# engines: native
# expect: completed failed
import os
for name in (b"\xff\xfe", b"new\nline", b"\x1b[31m", b"n" * 255, b" ", b"-rf", b"..." * 20, "\u202egnp.exe".encode(), b"a" * 200 + b"\xc3", b'"quote"', b"\\"):
    try:
        with open(b"/output/" + name, "wb") as file:
            file.write(name)
    except OSError as error:
        print(error.errno)
path = b"/output"
try:
    os.chdir(path)
    for _ in range(100):
        os.mkdir(b"d" * 200)
        os.chdir(b"d" * 200)
except OSError as error:
    print(error.errno)
open("bottom", "w").write("x")
