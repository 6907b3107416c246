import gzip
import io
import tarfile
import zipfile
from array import array

buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("a/b.txt", "hello " * 100)
with zipfile.ZipFile(buffer) as archive:
    print(archive.namelist(), archive.read("a/b.txt")[:5], archive.testzip())
print(gzip.decompress(gzip.compress(b"x" * 1000)) == b"x" * 1000)
tar = io.BytesIO()
with tarfile.open(fileobj=tar, mode="w:gz") as t:
    info = tarfile.TarInfo("f.txt")
    info.size = 3
    t.addfile(info, io.BytesIO(b"abc"))
tar.seek(0)
with tarfile.open(fileobj=tar) as t:
    print([m.name for m in t.getmembers()], t.extractfile("f.txt").read())
numbers = array("i", [1, 2, 3])
numbers.append(4)
view = memoryview(bytearray(b"abcdef"))
view[1:3] = b"XY"
print(numbers.tolist(), bytes(view), bytearray(3), b"a,b".split(b","))
with open("/tmp/data.bin", "wb") as f:
    f.write(bytes(range(10)))
with open("/tmp/data.bin", "rb") as f:
    f.seek(-3, 2)
    print(f.read(), f.tell())
