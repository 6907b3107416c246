import json
from pathlib import Path

records = json.loads('[{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": []}]')


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


flat = [{"id": r["id"], "tag": tag} for r in records for tag in r["tags"] or [None]]
output = Path("/output")
output.mkdir(parents=True, exist_ok=True)
target = output / "flat.json"
target.write_text(json.dumps(flat, indent=2, sort_keys=True), encoding="utf-8")
with target.open() as handle:
    again = json.load(handle)
print(json.dumps(Point(1, 2), default=lambda o: o.__dict__))
again == flat
