import gzip
import io
import tarfile
import zipfile
from pathlib import Path

folder = Path("/tmp/work")
folder.mkdir(exist_ok=True)
for name in ("a.txt", "b.txt"):
    (folder / name).write_text(f"content of {name}\n" * 3)
archive = Path("/output/all.zip")
with zipfile.ZipFile(archive, "w", compression=zipfile.ZIP_DEFLATED) as z:
    for file in sorted(folder.iterdir()):
        z.write(file, arcname=file.name)
with zipfile.ZipFile(archive) as z:
    names = z.namelist()
    first = z.read(names[0]).decode()
buffer = io.BytesIO()
with gzip.GzipFile(fileobj=buffer, mode="wb") as g:
    g.write(first.encode())
with tarfile.open("/output/all.tar", "w") as t:
    t.add(folder / "a.txt", arcname="a.txt")
print(names, len(buffer.getvalue()), archive.stat().st_size > 0)
