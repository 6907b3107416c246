# Parsing and writing the data formats tools answer with.
import base64
import csv
import hashlib
import io
import json
import struct
import urllib.parse

data = {"users": [{"id": i, "name": f"user {i}", "email": f"u{i}@example.com", "active": i % 3 == 0, "score": i / 7, "tags": ["a", "b\u00e9", None]} for i in range(250)]}
text = json.dumps(data)
back = json.loads(text)
assert back == data
print(len(text), len(json.dumps(data, indent=2, sort_keys=True)), json.dumps("\u20ac \"q\" \n"), json.dumps([1.5, 1e100, True, None, float("inf")]))
active = [u for u in back["users"] if u["active"] and u["score"] > 5]
print(len(active), sum(u["score"] for u in active))
try:
    json.loads('{"a": [1, 2,}')
except json.JSONDecodeError as error:
    print(error.msg, error.pos)


class Encoder(json.JSONEncoder):
    def default(self, o):
        return sorted(o) if isinstance(o, set) else super().default(o)


print(json.dumps({"s": {3, 1, 2}}, cls=Encoder, separators=(",", ":")))

buffer = io.StringIO()
writer = csv.DictWriter(buffer, fieldnames=["id", "name", "score"])
writer.writeheader()
for user in data["users"]:
    writer.writerow({"id": user["id"], "name": user["name"] + ', "x"', "score": round(user["score"], 2)})
rows = list(csv.DictReader(io.StringIO(buffer.getvalue())))
print(len(rows), rows[3], sum(float(r["score"]) for r in rows))

raw = bytes(range(256)) * 8
print(base64.b64encode(raw)[:20], base64.b64decode(base64.b64encode(raw)) == raw, hashlib.sha256(raw).hexdigest()[:12], hashlib.md5(raw).hexdigest()[:8])
print(struct.unpack("<IhQd", struct.pack("<IhQd", 7, -3, 2**40, 1.5)), int.from_bytes(b"\x01\x02", "big"))
print(urllib.parse.urlencode({"q": "a b&c", "n": 1}), urllib.parse.urlparse("https://h.example/p/a?x=1#f").query, urllib.parse.quote("\u00e9/ "))
