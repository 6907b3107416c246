import json
from pathlib import Path, PurePosixPath

root = Path("/tmp/project")
(root / "src").mkdir(parents=True, exist_ok=True)
(root / "src" / "a.txt").write_text("alpha\nbeta\n")
(root / "src" / "b.json").write_text(json.dumps({"x": 1}))
(root / "notes.md").write_bytes(b"# title\n")
for path in sorted(root.rglob("*")):
    kind = "dir" if path.is_dir() else f"{path.stat().st_size} bytes"
    print(path.relative_to(root), kind, path.suffix)
with (root / "src" / "a.txt").open() as lines:
    print([line.rstrip() for line in lines])
data = json.loads((root / "src" / "b.json").read_text())
print(data["x"], PurePosixPath("/a/b/../c.tar.gz").suffixes, Path("x/y.txt").with_suffix(".md"))
target = (root / "notes.md").rename(root / "readme.md")
print(target.name, (root / "notes.md").exists(), [p.name for p in root.glob("*.md")])
for path in sorted(root.rglob("*"), reverse=True):
    path.rmdir() if path.is_dir() else path.unlink()
root.rmdir()
print(root.exists())
