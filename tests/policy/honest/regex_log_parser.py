import re
from collections import Counter

LOG = """
2024-05-01 10:00:01 INFO  user=ann action=login ip=10.0.0.1
2024-05-01 10:00:05 ERROR user=bob action=upload size=1024 msg="disk full"
2024-05-01 10:01:00 WARN  user=ann action=logout
bad line
"""
LINE = re.compile(r"^(?P<date>\d{4}-\d\d-\d\d) (?P<time>[\d:]+) (?P<level>[A-Z]+)\s+(?P<rest>.*)$", re.M)
PAIR = re.compile(r'(\w+)=("[^"]*"|\S+)')
levels = Counter()
for match in LINE.finditer(LOG):
    levels[match["level"]] += 1
    pairs = {k: v.strip('"') for k, v in PAIR.findall(match.group("rest"))}
    print(match["time"], pairs)
print(levels.most_common())
print(re.sub(r"\b(\w)(\w*)\b", lambda m: m.group(1).upper() + m.group(2), "make title case"))
print(re.split(r"[;,\s]\s*", "a, b;c  d"), re.fullmatch(r"[a-f0-9]+", "beef") is not None)
