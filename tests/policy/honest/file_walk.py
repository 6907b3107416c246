import os
from pathlib import Path

root = Path(os.environ.get("DATA_DIR", "/input"))
sizes = {}
for path in sorted(root.rglob("*")):
    if path.is_file() and not path.name.startswith("."):
        sizes[str(path.relative_to(root))] = path.stat().st_size

for name, size in sorted(sizes.items(), key=lambda pair: pair[1], reverse=True)[:10]:
    base, extension = os.path.splitext(name)
    print(f"{size:>12,} {os.path.basename(base)} {extension or '-'}")
total = sum(sizes.values())
print(f"total: {total / 1024:.1f} KiB in {len(sizes)} files")
